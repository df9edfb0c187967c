"""Pages and JSON: results."""

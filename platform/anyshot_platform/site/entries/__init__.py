"""Pages and JSON: entries."""

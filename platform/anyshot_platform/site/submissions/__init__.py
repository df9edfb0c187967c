"""Pages and JSON: submissions."""

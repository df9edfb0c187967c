"""Pages and JSON: kit."""

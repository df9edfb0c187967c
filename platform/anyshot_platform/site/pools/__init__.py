"""Pages and JSON: pools."""

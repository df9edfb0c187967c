"""Pages and JSON: operations."""

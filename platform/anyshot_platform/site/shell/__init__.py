"""Pages and JSON: shell."""

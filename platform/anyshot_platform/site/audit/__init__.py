"""Pages and JSON: audit."""

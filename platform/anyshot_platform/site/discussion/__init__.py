"""Pages and JSON: discussion."""

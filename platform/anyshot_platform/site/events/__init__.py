"""Pages and JSON: events."""

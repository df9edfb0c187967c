"""Pages and JSON: described."""

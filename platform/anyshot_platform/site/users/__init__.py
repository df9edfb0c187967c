"""Pages and JSON: users."""

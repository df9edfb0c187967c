"""Pages and JSON: announcements."""

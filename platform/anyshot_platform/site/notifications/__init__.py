"""Pages and JSON: notifications."""

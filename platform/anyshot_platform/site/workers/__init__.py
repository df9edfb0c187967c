"""Pages and JSON: workers."""

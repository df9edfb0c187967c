"""Pages and JSON: teams."""

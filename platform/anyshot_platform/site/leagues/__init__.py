"""Pages and JSON: leagues."""

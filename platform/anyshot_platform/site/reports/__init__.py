"""Pages and JSON: reports."""

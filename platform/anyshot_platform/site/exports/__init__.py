"""Pages and JSON: exports."""

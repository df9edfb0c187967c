"""Pages and JSON: competitions."""

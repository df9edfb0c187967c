"""Pages and JSON: phases."""

"""Pages and JSON: the code that organizers published."""

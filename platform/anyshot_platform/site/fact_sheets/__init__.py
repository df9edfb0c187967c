"""Pages and JSON: fact sheets."""

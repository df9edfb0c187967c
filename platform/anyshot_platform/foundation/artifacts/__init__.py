"""Content-addressed files: where they lie, who refers to them, signed addresses."""

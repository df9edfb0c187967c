"""Pages and JSON: bundles."""

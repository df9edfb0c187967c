"""Pages and JSON: baselines."""

"""A whole competition, played with its baselines in a hidden copy."""

"""MAML against union supervised learning (USL) on Gaussian benchmarks whose diversity is known exactly."""

"""Experiments with baselines: a list of bundles, seeds and a pool in; the paper's tables, figures and findings out."""

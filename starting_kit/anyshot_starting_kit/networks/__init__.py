"""Backbones and heads that baselines share; participants may use them too."""

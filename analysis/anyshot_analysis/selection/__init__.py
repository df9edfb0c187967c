"""Choosing hyperparameters without looking at novel classes."""

"""Organizers' work: baselines."""

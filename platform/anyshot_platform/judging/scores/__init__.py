"""Scores of runs and of submissions."""

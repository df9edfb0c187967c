"""Runs submissions in a sandbox."""

"""Organizers' work: bundles."""

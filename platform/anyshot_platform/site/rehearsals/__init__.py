"""Rehearsals: page and JSON."""

"""Organizers' work: entries."""

"""Organizers' work: submissions."""

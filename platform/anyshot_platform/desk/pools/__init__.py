"""Organizers' work: pools."""

"""Organizers' work: leagues."""

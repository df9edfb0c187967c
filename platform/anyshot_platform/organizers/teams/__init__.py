"""Organizers' work: teams."""

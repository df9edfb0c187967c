"""Organizers' work: reports."""

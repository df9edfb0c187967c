"""Organizers' work: announcements."""

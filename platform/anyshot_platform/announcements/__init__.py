"""Announcements of a competition's organizers."""

"""Organizers' work: finals, winners, publication."""

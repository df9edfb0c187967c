"""Organizers' work: phases."""

"""Organizers' work: competitions."""

"""Organizers' work: webhooks."""

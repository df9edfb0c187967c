"""Organizers' reports: how far a board can be trusted, what a pool is like. Workers compute them as ordinary jobs."""

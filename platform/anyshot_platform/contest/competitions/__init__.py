"""Competitions, their pages and their people."""

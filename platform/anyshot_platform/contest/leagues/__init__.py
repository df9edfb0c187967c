"""Leagues: several boards in one competition."""

"""Leaderboards: one a league and phase version, kept up to date score by score."""

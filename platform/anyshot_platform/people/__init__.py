"""People and teams, and what they are told."""

"""Baselines of a competition: the organizers' own submissions, shown marked and out of the ranking."""

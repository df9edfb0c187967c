"""A competition moves to another site, with its people, submissions, scores and discussion."""

"""Fact sheets: what a team says of its method, when the competition asks for it."""

"""The discussion page of a competition."""

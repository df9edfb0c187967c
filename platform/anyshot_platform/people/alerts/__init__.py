"""What operators have to know, opened and closed by the platform."""

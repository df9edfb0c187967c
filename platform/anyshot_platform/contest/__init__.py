"""A competition as its organizers describe it."""

"""What organizers can do: each act says what it needs, what it does to whom, and how it is undone."""

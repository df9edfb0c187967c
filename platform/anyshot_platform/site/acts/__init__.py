"""What organizers can do, over JSON: the list of all acts with their addresses."""

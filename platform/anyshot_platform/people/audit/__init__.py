"""The append-only record of what organizers and administrators did."""

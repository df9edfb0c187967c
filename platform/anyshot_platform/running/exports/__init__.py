"""What organizers take away: tables, and one archive of everything."""

"""What stands for a team, and the results."""

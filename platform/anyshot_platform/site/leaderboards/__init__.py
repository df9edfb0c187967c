"""Pages and JSON: leaderboards."""

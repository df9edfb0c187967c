"""The demo: a whole competition on one machine, from the data to the leaderboard, through the public API."""

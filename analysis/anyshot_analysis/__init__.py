"""What the evaluation papers propose, on pools, result tables and learners: how diverse tasks are, and how far
a leaderboard can be trusted."""

"""The trusted side of an evaluation: holds labels, clock and budget, and talks frames to a runner it distrusts."""

"""Runs: evaluations of submissions, their states, leases and attempts."""

"""Which work goes first: the higher number. Final phases over feedback, over re-runs, over bulk work."""

from __future__ import annotations

SMOKE = 50  # seconds long, and somebody waits in front of the screen
FINAL = 40
FEEDBACK = 20
RERUN = 10
BULK = 0

"""Which work of a competition goes first: the higher number. Finals over feedback, over re-runs, over bulk work.

Competitions take turns (`judging.execution.scheduling`): no number that organizers write lets their runs go before
another's.
"""

SMOKE = 50  # seconds long, and somebody waits in front of the screen
FINAL = 40
ORGANIZERS_MOST = 39  # what a phase may be given: below its finals
FEEDBACK = 20
RERUN = 10
BULK = 0

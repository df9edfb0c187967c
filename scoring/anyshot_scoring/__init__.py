"""Scores, intervals, rankings and their reliability, as pure functions on arrays and tables.

NumPy and SciPy only: the same code runs in the worker, the platform, the starting kit and a notebook.
"""

"""A run on this machine:
the same checks, runner, task server, scoring and report as on the platform, on public data.
"""

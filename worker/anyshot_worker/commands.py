"""What this package adds to the command `anyshot`."""

COMMANDS = {"worker": ("anyshot_worker.cli:worker", "Run submissions in a sandbox (operators).")}

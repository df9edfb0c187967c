"""What this package adds to the command `anyshot`."""

COMMANDS = {"admin": ("anyshot_platform.cli:admin", "Run and maintain an Anyshot site.")}

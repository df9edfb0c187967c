"""What this package adds to the command `anyshot`."""

COMMANDS = {
    "analyse": (
        "anyshot_analysis.cli:analyse",
        "How diverse tasks are, and how far a ranking can be trusted.",
    ),
    "read-dataset": (
        "anyshot_analysis.readers.command:read_dataset",
        "The papers' datasets as Meta-Album folders.",
    ),
}

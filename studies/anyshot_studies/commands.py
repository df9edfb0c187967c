"""What this package adds to the command `anyshot`."""

COMMANDS = {
    "experiment": (
        "anyshot_studies.experiment.command:experiment",
        "Run experiments with baselines.",
    ),
    "reproduce": (
        "anyshot_studies.reproduce.command:reproduce",
        "Reproduce the tables and figures of the papers.",
    ),
}

"""The command `anyshot`. Other packages add subcommands by the entry point group `anyshot.commands`."""

from anyshot_starting_kit.cli.group import main

__all__ = ["main"]

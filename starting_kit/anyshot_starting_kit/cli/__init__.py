"""The command `anyshot`. Other packages add subcommands by the entry point group `anyshot.commands`."""

import os

from anyshot_starting_kit.cli.group import main
from anyshot_starting_kit.taskserver.tuning import TUNING

# Before anything brings torch and OpenMP, which read it once; what the caller set stays.
for _name, _value in TUNING.items():
    os.environ.setdefault(_name, _value)

__all__ = ["main"]

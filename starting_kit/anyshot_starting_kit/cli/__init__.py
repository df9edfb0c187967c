"""The command `anyshot`. Other packages add subcommands by the entry point group `anyshot.commands`."""

import os

from anyshot_starting_kit.cli.group import main
from anyshot_starting_kit.taskserver.threads import PATIENT

# Before anything brings OpenMP, which reads it once; what the caller set stays.
for _name, _value in PATIENT.items():
    os.environ.setdefault(_name, _value)

__all__ = ["main"]

"""The command `anyshot`: each installed package adds its subcommands by an entry point of the group `anyshot.commands`.

The entry point names a table, name -> (where the command is, its line of help), so that `anyshot --help` imports no
command and needs no torch. A command without a line of help is an old name that works and is not shown.
"""

import importlib
import importlib.metadata
import os
import sys
from collections.abc import Mapping
from functools import cache

import click

from anyshot_core.taskserver.tuning import TUNING

ENTRY_POINTS = "anyshot.commands"
_GROUPS = {  # in `anyshot --help`
    "Write a submission": ("check", "dry-run", "init", "pack", "sandbox"),
    "Submit and follow": ("again", "cancel", "list", "log", "login", "note", "status", "submit"),
    "Look at results": ("code", "compare", "confusion", "curves", "results", "task", "winners"),
    "Take part": (
        "announcements",
        "answer",
        "discussion",
        "entries",
        "fact-sheet",
        "leagues",
        "mute",
        "my-data",
    ),
    "Data": ("data", "read-dataset", "weights"),
    "Analyse here": ("analyse", "experiment", "replay", "reproduce", "score", "verify", "verify-key"),
    "Organize": ("organize",),
    "Operate": ("admin", "administer", "worker"),
}
_OTHER = "Other"
Commands = Mapping[str, tuple[str, str]]
# This command as another process, of this very Python; -P: what lies in the folder it starts in shadows no module.
AS_PROCESS = (sys.executable, "-P", "-m", "anyshot_core.command")

# Before anything brings torch and OpenMP, which read it once; what the caller set stays.
for _name, _value in TUNING.items():
    os.environ.setdefault(_name, _value)


class LazyGroup(click.Group):
    """Knows its subcommands by name and one line of help; imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _commands():
            return None
        try:
            return _load(_commands()[cmd_name][0])
        except ModuleNotFoundError as error:
            target = _commands()[cmd_name][0]
            raise click.ClickException(
                f"`anyshot {cmd_name}` needs {error.name}, which is not installed: {_remedy(target)}"
            ) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = {name: words for name, (_, words) in sorted(_commands().items()) if words}
        for group in (*_GROUPS, _OTHER):
            rows = [(name, words) for name, words in shown.items() if _group_of(name) == group]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


def _group_of(name: str) -> str:
    return next((group for group, names in _GROUPS.items() if name in names), _OTHER)


@cache
def _commands() -> dict[str, tuple[str, str]]:
    tables: list[Commands] = [entry.load() for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)]
    return {name: command for table in tables for name, command in table.items()}


def _remedy(target: str) -> str:
    """What brings the packages that a command lacks; the starting kit knows the site that serves it."""
    if target.startswith("anyshot_starting_kit"):
        return importlib.import_module("anyshot_starting_kit.cli.account").install_remedy()
    extra = "[analysis]" if target.startswith("anyshot_worker") else ""
    return f"pip install '{target.partition('.')[0].replace('_', '-')}{extra}' brings it."


def _load(target: str) -> click.Command:
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="anyshot-core", prog_name="anyshot")
def main() -> None:
    """Few-shot and meta-learning competitions: write a method, try it here, submit it."""


if __name__ == "__main__":  # `AS_PROCESS`
    main(prog_name="anyshot")

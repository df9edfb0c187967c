"""The command group:
subcommands are imported when they are used, so that `anyshot --help` is quick and needs no torch.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from typing import Any

import click

ENTRY_POINTS = "anyshot.commands"
_KIT = "anyshot_starting_kit.cli"
_OWN = {
    "init": (f"{_KIT}.init:init", "Start a submission from a template that runs."),
    "check": (f"{_KIT}.check:check", "Check a submission without running it."),
    "pack": (f"{_KIT}.pack:pack", "Zip a submission's folder."),
    "dry-run": (f"{_KIT}.dry_run:dry_run", "Run a submission here, as the platform would."),
    "login": (f"{_KIT}.login:login", "Log in at a platform."),
    "submit": (f"{_KIT}.submit:submit", "Upload a submission."),
    "status": (f"{_KIT}.status:status", "Show where a submission stands."),
    "log": (f"{_KIT}.log:log", "Show the log of a submission."),
    "results": (f"{_KIT}.results:results", "Show or download the results of a submission."),
    "cancel": (f"{_KIT}.cancel:cancel", "Cancel a submission that is queued or running."),
    "leagues": (f"{_KIT}.leagues:leagues", "Show the leagues of a competition and what they ask."),
    "answer": (f"{_KIT}.leagues:answer", "Answer the questions of a league."),
    "entries": (f"{_KIT}.leagues:entries", "Show which of your submissions count, in each league."),
    "fact-sheet": (f"{_KIT}.fact_sheet:fact_sheet", "Show or hand in your team's fact sheet."),
    "winners": (
        f"{_KIT}.winners:winners",
        "Show the results of a final phase, write tables and certificates.",
    ),
    "organize": (f"{_KIT}.organize:organize", "Steer a competition that you organize."),
    "score": (f"{_KIT}.score:score", "Score prediction files."),
    "data": (f"{_KIT}.data:data", "Read, check and pack datasets."),
    "pack-data": (f"{_KIT}.data:pack_data", "Pack a dataset folder into one file."),
    "experiment": (f"{_KIT}.experiment:experiment", "Run experiments with baselines."),
    "verify-key": (f"{_KIT}.verify_key:verify_key", "Compare a phase's published key with its commitment."),
}


class LazyGroup(click.Group):
    """Knows its subcommands by name and one line of help; imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*_available(), *(entry.name for entry in _plugins()), *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _OWN:
            return _load(_OWN[cmd_name][0])
        for entry in _plugins():
            if entry.name == cmd_name:
                return entry.load()
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self._short_help(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _short_help(self, ctx: click.Context, name: str) -> str:
        if name in _OWN:
            return _OWN[name][1]
        for entry in _plugins():  # not imported for a line of help
            if entry.name == name:
                return f"(of {entry.dist.name})" if entry.dist else ""
        command = self.get_command(ctx, name)
        return command.get_short_help_str() if command else ""


def _available() -> list[str]:
    return [name for name, (target, _) in _OWN.items() if importlib.util.find_spec(target.split(":")[0])]


def _plugins() -> list[Any]:
    return list(importlib.metadata.entry_points(group=ENTRY_POINTS))


def _load(target: str) -> click.Command:
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="anyshot-starting-kit", prog_name="anyshot")
def main() -> None:
    """Few-shot and meta-learning competitions: write a method, try it here, submit it."""

"""`anyshot results`."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from anyshot_core.client import Client
from anyshot_core.evaluations import PointScore, score_text
from anyshot_core.report.text import group_lines
from anyshot_core.words import decimal_words
from anyshot_scoring.summary import Group
from anyshot_starting_kit.cli.account import connection_options, which_submission
from anyshot_starting_kit.cli.exits import Exit
from anyshot_starting_kit.cli.new_file import named
from anyshot_starting_kit.cli.status import describe, describe_failure, exit_code


@click.command()
@click.argument("submission", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the files of its runs that you may see, such as the log and the table of tasks, and for their"
    " signed receipts. Several runs get a folder each: run-0, run-1, ... The code and the provenance are in --zip.",
)
@click.option(
    "--zip",
    "archive",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for one zip of everything: code, provenance, results, log and the files of its runs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the submission as JSON and nothing else.")
@connection_options
def results(
    client: Client, submission: str | None, output: Path | None, archive: Path | None, as_json: bool
) -> None:
    """Show the results of SUBMISSION (its number or id; without it your latest).

    With -o it also downloads the files of its runs, with --zip everything in one file.

    Exit codes as those of `anyshot status`.
    """
    state = client.submission(which_submission(client, submission))
    click.echo(json.dumps(state, indent=1) if as_json else describe(state, client.page_of(state["id"])))
    if not as_json:
        for run in state["runs"]:
            click.echo(_run_line(run))
        for line in _tables(client.figures(state["id"])):
            click.echo(line)
        if points := client.evaluations(state["id"]):
            click.echo(f"Further evaluations\n{score_text([PointScore.from_dict(row) for row in points])}")
            for line in _failures(points):
                click.echo(line)
    if output is not None:
        _download(client, state, output, quiet=as_json)
    if archive is not None:
        client.fetch(f"/submissions/{state['id']}/everything", archive)
        if not as_json:
            click.echo(f"  {archive}")
    code = exit_code(state)
    if code is Exit.UNFINISHED and not as_json:
        click.echo("It has not ended: anyshot status --follow")
    sys.exit(code)


def _run_line(run: dict[str, Any]) -> str:
    score = "" if run["score"] is None else f", score {decimal_words(run['score'], 4)}"
    used = run["usage"].get("participant_seconds", run["seconds_used"])
    return f"  run {run['seed_index']}: {run['state']}{score}, {used:.1f} s used, files: {', '.join(run['artifacts'])}"


def _failures(points: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Why further evaluations failed, each reason once."""
    found: dict[str, dict[str, None]] = {}
    for row in points:
        for failure in row["failures"]:
            why = "\n".join(describe_failure(failure))
            found.setdefault(why, {})[PointScore.from_dict(row).words] = None
    for why, words in found.items():
        yield f"{', '.join(words)}\n{why}"


_TABLES = (
    ("dataset", "By dataset"),
    ("domain", "By domain"),
    ("ways", "By number of ways"),
    ("shots", "By number of shots"),
)


def _tables(figures: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What the page's charts show, as `anyshot dry-run` prints it; of several seeded runs one below the other."""
    runs = sorted({row["run"] for row in figures})
    for run in runs:
        for by, title in _TABLES:
            rows = [row for row in figures if row["run"] == run and row["by"] == by]
            if rows and (by != "domain" or len(rows) > 1):
                groups = [Group(row["key"], row["score"], row["half_width"], row["tasks"]) for row in rows]
                yield "\n".join(group_lines(f"{title}, run {run}" if len(runs) > 1 else title, groups))


def _download(client: Client, state: dict[str, Any], output: Path, *, quiet: bool) -> None:
    if state["score"] is not None:
        output.mkdir(parents=True, exist_ok=True)
        client.fetch(f"/submissions/{state['id']}/receipts", output / "receipts.json")
        if not quiet:
            click.echo(f"  {output / 'receipts.json'}")
    for run in state["runs"]:
        part = "" if run["shard_index"] is None else f"-part-{run['shard_index']}"
        folder = output / named(f"run-{run['seed_index']}{part}") if len(state["runs"]) > 1 else output
        folder.mkdir(parents=True, exist_ok=True)
        for name in run["artifacts"]:
            target = folder / named(name)
            client.download(state["id"], run["id"], name, target)
            if not quiet:
                click.echo(f"  {target}")

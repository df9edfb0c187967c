"""`anyshot confusion` and `anyshot task`: what a submission predicted, where the phase shows it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from anyshot_core.client import Client
from anyshot_scoring.confusion import Confusion
from anyshot_starting_kit.cli.account import connection_options, which_submission

_MOST = 10  # mistakes of a dataset


@click.command()
@click.argument("submission", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all counts of all classes.")
@connection_options
def confusion(client: Client, submission: str | None, as_json: bool) -> None:
    """Show which classes SUBMISSION (its number or id; without it your latest) confuses.

    It prints the ten most frequent mistakes of each dataset. Classes have the numbers of their dataset.
    """
    found = client.confusions(which_submission(client, submission))
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for one in found:
        click.echo(f"{one['dataset']}: {one['right']:.1%} of the query images classified correctly")
        for line in _mistakes(one):
            click.echo(f"  {line}")


def _mistakes(found: dict[str, Any]) -> Iterator[str]:
    """The most frequent ones by rate, of images in tasks with both classes."""
    arrays = {name: np.array(found[name], np.int64) for name in ("classes", "counts", "together")}
    known = Confusion(found["dataset"], found["tasks"], **arrays)
    rates, classes = known.rates(), found["classes"]
    for i, j in known.mistakes()[:_MOST]:
        yield (
            f"class {classes[i]} taken for class {classes[j]}: {rates[i, j]:.0%} "
            f"({known.counts[i, j]} of {known.together[i, j]} images)"
        )


@click.command()
@click.argument("submission")
@click.argument("number", type=click.IntRange(1))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the task's images with what was predicted (JPEG).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@connection_options
def task(client: Client, submission: str, number: int, output: Path | None, as_json: bool) -> None:
    """Show task NUMBER of the smoke test SUBMISSION (its number or id): what was predicted for its query images."""
    identity = which_submission(client, submission)
    found = client.task(identity, number)
    click.echo(json.dumps(found, indent=1) if as_json else "\n".join(_task_lines(found)))
    if output is not None:
        client.fetch(f"/submissions/{identity}/tasks/{number}/picture", output)
        if not as_json:
            click.echo(str(output))


def _task_lines(found: dict[str, Any]) -> Iterator[str]:
    yield (
        f"Task {found['number']} of {found['tasks']}: {found['dataset']}, {found['ways']} ways, "
        f"{found['shots']} shots, {found['right']} of {found['queries']} query images classified correctly"
    )
    names = [f"{i}: {name}" if name else str(i) for i, name in enumerate(found["classes"])]
    yield from _table("true class", names, found["confusion"])


def _table(head: str, names: Sequence[str], rows: Sequence[Sequence[int]]) -> Iterator[str]:
    wide = max(len(head), *map(len, names))
    columns = [f"as {label}" for label in range(len(names))]
    widths = [max(len(column), 5) for column in columns]
    cells = [columns, *([str(count) for count in row] for row in rows)]
    for name, row in zip([head, *names], cells, strict=True):
        yield f"  {name:<{wide}}  " + "  ".join(
            f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)
        )

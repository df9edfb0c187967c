"""`anyshot data get`: the public datasets of a competition, as a folder that a dry run takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from anyshot_core.client import Client
from anyshot_core.data.download import DownloadError
from anyshot_core.data.layout import SUFFIX
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.exits import Exit


@click.command()
@click.argument("competition")
@click.option(
    "--out",
    default=None,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the packs [data/COMPETITION].",
)
@connection_options
def get(client: Client, competition: str, out: Path | None) -> None:
    """Download the public datasets of COMPETITION, so that `anyshot dry-run --data FOLDER` takes them.

    Broken-off downloads continue, what is there already is only checked; every file is compared with its sha-256. The
    split in info/meta_splits.txt is that of the phases, or a fifth of the datasets is held out. Exits with 1 where
    nothing is public, with 3 when the platform cannot be reached.
    """
    found = client.data(competition)
    packs = {pack["digest"]: pack for pool in found["pools"] for pack in pool["datasets"]}
    if not packs:
        click.echo(f"{competition} has no public datasets. {_hidden(found)}", err=True)
        sys.exit(Exit.FAILED)
    folder = out or Path("data") / competition
    folder.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for pack in packs.values():
            bar = progress.add_task(pack["name"], total=pack["size"])
            try:
                client.fetch_dataset(
                    competition, pack, folder, lambda came, bar=bar: progress.advance(bar, came)
                )
            except DownloadError as error:
                progress.stop()
                click.echo(f"{pack['name']}: {error}", err=True)
                sys.exit(Exit.UNAVAILABLE)
    _write_split(folder, found["split"])
    _write_sums(folder, list(packs.values()))
    _tell(folder, list(packs.values()), found)


def _write_split(folder: Path, split: dict[str, list[str]]) -> None:
    (folder / "info").mkdir(exist_ok=True)
    text = json.dumps(split, indent=1) + "\n"
    (folder / "info" / "meta_splits.txt").write_text(text, encoding="utf-8")


def _write_sums(folder: Path, packs: list[dict[str, Any]]) -> None:
    lines = [f"{pack['digest']}  {pack['name']}{SUFFIX}\n" for pack in packs]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def _tell(folder: Path, packs: list[dict[str, Any]], found: dict[str, Any]) -> None:
    width = max(len(pack["name"]) for pack in packs)
    for pack in packs:
        licence = pack["licence"] or "licence not recorded"
        click.echo(
            f"{pack['name']:<{width}}  {pack['images']:7} images {pack['classes']:5} classes  {licence}"
        )
    if hidden := _hidden(found):
        click.echo(hidden)
    split = found["split"]
    click.echo(f"Meta-training: {', '.join(split['meta-train']) or 'none'}.")
    click.echo(f"Meta-testing: {', '.join(split['meta-test']) or 'none: name some with --test'}.")
    click.echo(f"Try a method on them: anyshot dry-run my-method --data {folder}")


def _hidden(found: dict[str, Any]) -> str:
    hidden = sum(pool["number_of_datasets"] for pool in found["pools"] if not pool["public"])
    return f"{hidden} more are hidden." if hidden else ""

"""`anyshot data get`: the public datasets of a competition, as a folder that a dry run takes."""

import json
import sys
from dataclasses import dataclass
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
from anyshot_starting_kit.cli.new_file import named

# What a pool is for, as the API names it. Of several datasets of one name, that of the first role is kept.
_ROLES = ("meta-training", "meta-testing", "smoke test")


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

    Broken-off downloads continue, what is there already is only checked; every file is compared with its sha-256. Of
    several datasets of one name, the one to train on is kept, else the one to test on; the others are named. The split
    in info/meta_splits.txt is that of the phases, or a fifth of the datasets is held out. Exits with 1 where nothing is
    public, with 3 when the platform cannot be reached.
    """
    found = client.data(competition)
    kept, left_out = choose(found["pools"])
    packs = [one.pack for one in kept]
    if not packs:
        click.echo(f"{competition} has no public datasets. {_hidden(found)}", err=True)
        sys.exit(Exit.FAILED)
    for name in (
        *(pack["name"] for pack in packs),
        *found["split"]["meta-train"],
        *found["split"]["meta-test"],
    ):
        named(name)
    folder = out or Path("data") / competition
    folder.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for pack in packs:
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
    _write_sums(folder, packs)
    _tell(folder, packs, left_out, found)


@dataclass(frozen=True)
class OfPool:
    """A public dataset, with the pool that it is of."""

    pack: dict[str, Any]
    pool: dict[str, Any]

    @property
    def words(self) -> str:
        """The pool in words: pool birds, version 2 (meta-training in Final)."""
        pool = self.pool
        return f"pool {pool['name']}, version {pool['version']} ({', '.join(pool['used_for'])})"


def choose(pools: list[dict[str, Any]]) -> tuple[list[OfPool], list[tuple[OfPool, OfPool]]]:
    """One dataset of each name, and those left out, each with the one that is kept instead.

    A dataset is kept as a file of its name: there is room for one.
    """
    kept: dict[str, OfPool] = {}
    left_out: dict[str, tuple[OfPool, OfPool]] = {}
    for pool in sorted(pools, key=_place):
        for pack in pool["datasets"]:
            one = OfPool(pack, pool)
            instead = kept.setdefault(pack["name"], one)
            if instead.pack["digest"] != pack["digest"]:
                left_out.setdefault(pack["digest"], (one, instead))
    return list(kept.values()), list(left_out.values())


def _place(pool: dict[str, Any]) -> int:
    """The place of the first role that a pool has, among all roles."""
    places = (place for place, role in enumerate(_ROLES) for use in pool["used_for"] if use.startswith(role))
    return next(places, len(_ROLES))


def _write_split(folder: Path, split: dict[str, list[str]]) -> None:
    (folder / "info").mkdir(exist_ok=True)
    text = json.dumps(split, indent=1) + "\n"
    (folder / "info" / "meta_splits.txt").write_text(text, encoding="utf-8")


def _write_sums(folder: Path, packs: list[dict[str, Any]]) -> None:
    lines = [f"{pack['digest']}  {pack['name']}{SUFFIX}\n" for pack in packs]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def _tell(
    folder: Path,
    packs: list[dict[str, Any]],
    left_out: list[tuple[OfPool, OfPool]],
    found: dict[str, Any],
) -> None:
    width = max(len(pack["name"]) for pack in packs)
    for pack in packs:
        licence = pack["licence"] or "licence not recorded"
        click.echo(
            f"{pack['name']:<{width}}  {pack['images']:7} images {pack['classes']:5} classes  {licence}"
        )
    for one, instead in left_out:
        click.echo(
            f"Left out: {one.pack['name']} of {one.words}, {one.pack['images']} images: it has the same name as that of"
            f" {instead.words}."
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

"""`anyshot organize pool`: the datasets of a competition."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from anyshot_core.client import Client, Refused
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.consent import ask_first, consent_options, warned

_ACTS = {  # the steps that are one act each, without further words
    "publish": "publish",
    "publish-when-over": "publish-when-over",
    "keep-hidden": "keep-hidden",
    "hide": "unpublish",
    "combine": "combine",
    "delete": "delete",
    "restore": "restore",
}
STEPS = ("show", "create", "put", "remove", "give", "compare", *_ACTS)


@click.command()
@click.argument("name")
@click.argument("step", type=click.Choice(STEPS), default="show")
@click.argument("what", nargs=-1)
@click.option("--competition", default=None, help="With create: the competition that the pool belongs to.")
@click.option("--only", is_flag=True, help="With put: the new version holds these packs and no others.")
@click.option("--note", default="", help="With put: kept with the version.")
@consent_options
@connection_options
def pool(
    client: Client,
    name: str,
    step: str,
    what: tuple[str, ...],
    competition: str | None,
    only: bool,
    note: str,
    **said: Any,
) -> None:
    """Show the pool NAME, or change it.

    create adds it to the site. put FILES uploads packs and creates a version: a dataset of the same name is replaced,
    the others stay, and a pack that is not sound is named and left out; a broken upload goes on when the command is
    given again. remove DATASET creates a version without it. give COMPETITION hands the pool to its organizers.
    publish lets participants download it, publish-when-over does so by itself once every phase that uses it is over,
    keep-hidden takes that back, hide takes both back. combine takes the packs of the pools that it combines. compare
    names the images that other datasets have too.
    """
    whole = True
    if step == "create":
        client.ask("POST", "/pools", {"slug": name, "competition": competition})
    elif step == "put":
        whole = _put(client, name, what, only=only, note=note)
    elif step == "remove":
        for dataset in _wanted(what, "the dataset"):
            _act(client, name, "remove-dataset", {"dataset": dataset}, **said)
    elif step == "give":
        (receiver,) = _wanted(what, "the competition")
        _act(client, name, "give", {"competition": receiver}, **said)
    elif step in _ACTS:
        _act(client, name, _ACTS[step], **said)
    elif step == "compare":
        return _compare(client.ask("GET", f"/pools/{name}/overlaps"))
    _show(client.ask("GET", f"/pools/{name}"))
    if not whole:
        raise SystemExit(1)


def _act(client: Client, name: str, act: str, options: dict[str, Any] | None = None, **said: Any) -> None:
    ask_first(
        lambda more: client.ask("POST", f"/pools/{name}/acts/{act}", {**(options or {}), **more}), **said
    )


def _compare(found: dict[str, Any]) -> None:
    """Say which images another dataset has too."""
    for shared in found["shared"]:
        click.echo(f"{'equal' if shared['equal'] else 'looks alike'}: {shared['words']}")
    for repeated in found.get("repeated", []):
        click.echo(f"repeated: {repeated['words']}")
    clean = "" if found["shared"] else " No image is in another one, and none looks like one."
    click.echo(f"Compared within the pool and with {found['compared']} other datasets.{clean}")
    if found["waiting"]:
        click.echo(f"Not compared yet: {', '.join(found['waiting'])}.")


def _wanted(what: tuple[str, ...], noun: str) -> tuple[str, ...]:
    if not what:
        raise click.UsageError(f"Name {noun}.")
    return what


def _put(client: Client, name: str, files: tuple[str, ...], *, only: bool, note: str) -> bool:
    """Whether all packs are in the new version: those that are not sound are named and left out."""
    paths = [Path(file) for file in _wanted(files, "the packs (files that end in .anyshot-pack)")]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise click.UsageError(f"There is no file {', '.join(missing)}.")
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    new: dict[str, str] = {}
    left_out: list[str] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for path in paths:
            bar = progress.add_task(path.name, total=path.stat().st_size)
            try:
                pack = client.upload_pack(name, path, partial(_show_sent, progress, bar))
                new[pack["name"]] = pack["digest"]
            except Refused as error:
                if error.code not in ("bad_pack", "too_large"):
                    raise
                left_out.append(f"{path.name}: {error}")
    for words in left_out:
        click.echo(f"Left out: {words}", err=True)
    if not new:
        raise SystemExit(1)
    known = {} if only else _newest(client.ask("GET", f"/pools/{name}"))
    made = client.ask(
        "POST", f"/pools/{name}/versions", {"packs": list((known | new).values()), "note": note}
    )
    warned(made)
    return not left_out


def _show_sent(progress: Progress, bar: TaskID, done: int, _total: int) -> None:
    progress.update(bar, completed=done)


def _newest(found: dict[str, Any]) -> dict[str, str]:
    """Digest by name of the newest version, in its order."""
    packs = found["versions"][0]["packs"] if found["versions"] else []
    return {pack["name"]: pack["digest"] for pack in packs}


def _show(found: dict[str, Any]) -> None:
    whose = f", of {found['competition']}" if found["competition"] else ""
    newest = found["versions"][0] if found["versions"] else None
    number = f", version {newest['number']}" if newest else ", without datasets"
    click.echo(f"{found['slug']} is {'public' if found['published_at'] else 'hidden'}{whose}{number}.")
    for pack in newest["packs"] if newest else []:
        click.echo(
            f"{pack['name']:32} {pack['images']:8} images {pack['classes']:5} classes  {pack['digest'][:12]}"
        )

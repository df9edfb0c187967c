"""`anyshot organize create`, `import` and `export`: a competition as files, which can be kept in Git."""

from __future__ import annotations

import shutil
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.consent import ask_first, consent_options
from anyshot_starting_kit.cli.new_file import must_be_new, say_written

_SLUG = "Short name in addresses; it cannot be changed later."


@click.command()
@click.argument("title")
@click.option("--slug", default="", help=f"{_SLUG} Without it the title gives one.")
@connection_options
def create(client: Client, title: str, slug: str) -> None:
    """Create an empty competition called TITLE, as a draft of yours."""
    made = client.ask("POST", "/competitions", {"title": title, "slug": slug})
    click.echo(
        f"The draft {made['slug']} is there. Write its phases: anyshot organize settings {made['slug']}"
    )


@click.command("import")
@click.argument("source")
@click.option("--slug", default="", help=f"{_SLUG} Instead of the bundle's.")
@click.option(
    "--start", type=click.DateTime(["%Y-%m-%d"]), help="Move all phases so that the first starts then (UTC)."
)
@connection_options
def import_bundle(client: Client, source: str, slug: str, start: datetime | None) -> None:
    """Create a draft from SOURCE: a bundle of Anyshot, Codabench or CodaLab as zip or folder, or a ready-made name."""
    moment = start.isoformat() if start else None
    made = _send(client, Path(source), slug, moment)
    report = client.organize("GET", made["slug"], "/import")
    for todo in report["todo"]:
        click.echo(f"to do: {todo['words']}")
    for words in report["without_equivalent"]:
        click.echo(f"without equivalent: {words}")
    click.echo(f"Imported as {made['slug']}, a draft.")


def _send(client: Client, source: Path, slug: str, start: str | None) -> dict[str, Any]:
    if source.is_file():
        return client.send_bundle(source.read_bytes(), slug, start)
    if source.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            packed = shutil.make_archive(str(Path(folder) / "bundle"), "zip", source)
            return client.send_bundle(Path(packed).read_bytes(), slug, start)
    made: dict[str, Any] = client.ask("POST", f"/ready-made/{source}", {"slug": slug, "start": start})
    return made


@click.command()
@click.argument("competition")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--with-seeds", is_flag=True, help="With the keys and seeds of hidden tasks; for owners.")
@consent_options
@connection_options
def export(client: Client, competition: str, file: Path, with_seeds: bool, **said: Any) -> None:
    """Write COMPETITION to FILE as a bundle that can be imported again, without the seeds of its hidden tasks."""
    must_be_new(file)
    path = f"/competitions/{competition}/manage/bundle"
    if with_seeds:
        ask_first(lambda more: client.fetch(f"{path}-with-seeds", file, more), **said)
    else:
        client.fetch(path, file)
    say_written(file, secret=with_seeds)


BUNDLE_COMMANDS = (create, import_bundle, export)

"""`anyshot organize file ...`: files of competitions and pools, sent to a platform and fetched from it."""

import json
import shutil
import tempfile
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from anyshot_core.client import Client, Refused
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.consent import ask_first, consent_options, warned
from anyshot_starting_kit.cli.new_file import must_be_new, say_written

_File = click.Path(exists=True, dir_okay=False, path_type=Path)
_SLUG = "Short name in addresses; it cannot be changed later."


@click.group()
def file() -> None:
    """Send files of a competition or pool, or fetch them."""


@file.command("import")
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


@file.command()
@click.argument("competition")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--with-seeds", is_flag=True, help="With the keys and seeds of hidden tasks; for owners.")
@consent_options
@connection_options
def export(client: Client, competition: str, path: Path, with_seeds: bool, **said: Any) -> None:
    """Write COMPETITION to FILE as a bundle that can be imported again, without the seeds of its hidden tasks."""
    must_be_new(path)
    bundle = f"/competitions/{competition}/manage/bundle"
    if with_seeds:
        ask_first(lambda more: client.fetch(f"{bundle}-with-seeds", path, more), **said)
    else:
        client.fetch(bundle, path)
    say_written(path, secret=with_seeds)


@file.command()
@click.argument("competition")
@click.argument("path", metavar="[FILE]", required=False, type=_File)
@connection_options
def settings(client: Client, competition: str, path: Path | None) -> None:
    """Print title, terms, registration, fact sheet and so on of COMPETITION as JSON, or set those that FILE has."""
    if path is not None:
        client.organize("PATCH", competition, "/settings", _json(path))
    click.echo(json.dumps(client.organize("GET", competition, "/settings"), indent=2, ensure_ascii=False))


@file.command()
@click.argument("competition")
@click.argument("phase")
@click.argument("path", metavar="[FILE]", required=False, type=_File)
@connection_options
def phase(client: Client, competition: str, phase: str, path: Path | None) -> None:
    """Print the settings of PHASE as JSON, or set those that FILE has; a phase that is not there is created."""
    if path is not None:
        known = {row["key"] for row in client.organize("GET", competition, "/phases")}
        method, where = ("PATCH", f"/phases/{phase}") if phase in known else ("POST", "/phases")
        client.organize(method, competition, where, {**_json(path), "key": phase})
    found = client.organize("GET", competition, f"/phases/{phase}")
    click.echo(json.dumps(found["settings"], indent=2, ensure_ascii=False))


@file.command()
@click.argument("competition")
@click.argument("key")
@click.argument("path", metavar="[FILE]", required=False, type=_File)
@click.option("--title", help="A new title.")
@connection_options
def page(client: Client, competition: str, key: str, path: Path | None, title: str | None) -> None:
    """Print the page KEY, or write it from the Markdown FILE; a new key adds a page."""
    pages = client.organize("GET", competition, "/pages")
    found = next((row for row in pages if row["key"] == key), None)
    if path is None and title is None:
        if found is None:
            known = ", ".join(row["key"] for row in pages) or "none"
            raise click.UsageError(f"There is no page {key}. There are: {known}.")
        click.echo(found["body"])
        return
    body = _text(path) | ({"title": title or key} if title or found is None else {})
    method, where = ("POST", "/pages") if found is None else ("PATCH", f"/pages/{found['id']}")
    saved = client.organize(method, competition, where, body)
    click.echo(f"The page {saved['key']} is saved.")


@file.command()
@click.argument("competition")
@click.argument("identity", metavar="ID")
@click.argument("path", metavar="[FILE]", required=False, type=_File)
@click.option("--title", help="A new title.")
@connection_options
def announcement(
    client: Client, competition: str, identity: str, path: Path | None, title: str | None
) -> None:
    """Replace the text of announcement ID by the Markdown FILE; nobody gets a message."""
    body = _text(path) | ({} if title is None else {"title": title})
    client.organize("PATCH", competition, f"/announcements/{identity}", body)
    click.echo("The announcement is saved.")


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _text(path: Path | None) -> dict[str, str]:
    return {} if path is None else {"body": path.read_text(encoding="utf-8")}


@file.command()
@click.argument("competition")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=_File)
@connection_options
def attach(client: Client, competition: str, paths: tuple[Path, ...]) -> None:
    """Upload images and other FILEs for pages of COMPETITION, which show them by ![words](files/NAME).

    The token needs the scope submit too, to upload.
    """
    for path in paths:
        upload = client.upload(path)
        client.organize("PUT", competition, f"/files/{path.name}", {"upload_id": upload["id"]})
        click.echo(f"files/{path.name}")


@file.command()
@click.argument("competition")
@click.argument("archive", metavar="ZIP", type=_File)
@click.option("--name", help="What the boards call it [the file's name].")
@click.option("--league", "leagues", multiple=True, help="On whose board it stands; may be repeated.")
@connection_options
def baseline(
    client: Client, competition: str, archive: Path, name: str | None, leagues: tuple[str, ...]
) -> None:
    """Add ZIP as a baseline of COMPETITION; the token needs the scope submit too, to upload it."""
    upload = client.upload(archive)
    body = {"name": name or archive.stem, "upload_id": upload["id"], "leagues": list(leagues)}
    made = client.organize("POST", competition, "/baselines", body)
    click.echo(f"The baseline {made['key']} is added.")


@file.command()
@click.argument("pool")
@click.argument("paths", metavar="PACK...", nargs=-1, required=True, type=_File)
@click.option("--only", is_flag=True, help="The new version holds these packs and no others.")
@click.option("--note", default="", help="Kept with the version.")
@connection_options
def packs(client: Client, pool: str, paths: tuple[Path, ...], only: bool, note: str) -> None:
    """Upload PACKs and create a version of POOL; a dataset of the same name is replaced, the others stay.

    A pack that is not sound is named and left out; a broken upload goes on when the command is given again.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    new: dict[str, str] = {}
    left_out: list[str] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for path in paths:
            bar = progress.add_task(path.name, total=path.stat().st_size)
            try:
                pack = client.upload_pack(pool, path, partial(_show_sent, progress, bar))
                new[pack["name"]] = pack["digest"]
            except Refused as error:
                if error.code not in ("bad_pack", "too_large"):
                    raise
                left_out.append(f"{path.name}: {error}")
    for words in left_out:
        click.echo(f"Left out: {words}", err=True)
    if not new:
        raise SystemExit(1)
    wanted = {"packs": list(new.values()), "keep": not only, "note": note}
    made = warned(client.ask("POST", f"/pools/{pool}/acts/version", wanted))
    newest = made["versions"][0]
    click.echo(
        f"{pool} has version {newest['number']}: {', '.join(pack['name'] for pack in newest['packs'])}."
    )
    if left_out:
        raise SystemExit(1)


def _show_sent(progress: Progress, bar: TaskID, done: int, _total: int) -> None:
    progress.update(bar, completed=done)

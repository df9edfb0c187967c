"""The commands of `anyshot organize` for a competition's texts, announcements, webhooks, baselines and log."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from anyshot_core.client import Client
from anyshot_core.words import count_of, moment_words
from anyshot_starting_kit.cli.account import connection_options, outlasting
from anyshot_starting_kit.cli.consent import ask_first, consent_options, send_act

_File = click.Path(exists=True, dir_okay=False, path_type=Path)
_ASK_EVERY = 5.0  # seconds
STATES = ("draft", "published", "archived")


@click.command()
@click.argument("competition")
@click.argument("file", required=False, type=_File)
@connection_options
def about(client: Client, competition: str, file: Path | None) -> None:
    """Print title, terms, registration, fact sheet and so on of COMPETITION as JSON, or set those that FILE has."""
    if file is not None:
        client.organize("PATCH", competition, "/settings", json.loads(file.read_text(encoding="utf-8")))
    click.echo(json.dumps(client.organize("GET", competition, "/settings"), indent=2, ensure_ascii=False))


@click.command()
@click.argument("competition")
@click.argument("key", required=False)
@click.argument("file", required=False, type=_File)
@click.option("--title", help="A new title.")
@connection_options
def page(client: Client, competition: str, key: str | None, file: Path | None, title: str | None) -> None:
    """List the pages of COMPETITION, print the page KEY, or write it from the Markdown FILE; a new key adds a page."""
    pages = client.organize("GET", competition, "/pages")
    if key is None:
        for row in pages:
            click.echo(f"{row['key']:24} {row['title']}")
        return
    found = next((row for row in pages if row["key"] == key), None)
    if file is None and title is None:
        if found is None:
            raise click.UsageError(f"There is no page {key}.")
        click.echo(found["body"])
        return
    body = {} if file is None else {"body": file.read_text(encoding="utf-8")}
    body |= {"title": title or key} if title or found is None else {}
    method, path = ("POST", "/pages") if found is None else ("PATCH", f"/pages/{found['id']}")
    saved = client.organize(method, competition, path, body)
    click.echo(f"The page {saved['key']} is saved.")


@click.command()
@click.argument("competition")
@connection_options
def values(client: Client, competition: str) -> None:
    """List what pages of COMPETITION may name, like {{ phases.feedback.end }}, with each value as it is now."""
    for name, value in client.organize("GET", competition, "/values").items():
        click.echo(f"{{{{ {name} }}}}  {value}")


@click.command()
@click.argument("competition")
@click.argument("paths", nargs=-1, type=_File)
@click.option(
    "--remove", multiple=True, metavar="NAME", help="Take this file away; may be given more than once."
)
@consent_options
@connection_options
def files(
    client: Client, competition: str, paths: tuple[Path, ...], remove: tuple[str, ...], **said: Any
) -> None:
    """List the images and files of COMPETITION's pages, keep PATHS among them, or take some away.

    A page shows an image by ![words](files/NAME). The token needs the scope submit too, to upload.
    """
    for path in paths:
        upload = client.upload(path)
        client.organize("PUT", competition, f"/files/{path.name}", {"upload_id": upload["id"]})
    for name in remove:
        send_act(client, competition, f"/files/{name}/acts/remove", **said)
    for row in client.organize("GET", competition, "/files"):
        click.echo(f"files/{row['name']}  {row['size']:,} bytes")


@click.command()
@click.argument("competition")
@click.argument("new")
@click.option("--title", default="", help="Title of the copy [the same].")
@click.option("--start", default=None, help="First moment of its first phase, like 2027-06-15T00:00:00Z.")
@connection_options
def clone(client: Client, competition: str, new: str, title: str, start: str | None) -> None:
    """Create the draft NEW from COMPETITION: all but people, submissions and results, with new keys and seeds."""
    made = client.organize("POST", competition, "/clone", {"slug": new, "title": title, "start": start})
    click.echo(f"{made['slug']} is a draft.")
    for notice in made["notices"]:
        click.echo(notice)


@click.command()
@click.argument("competition")
@click.option(
    "--tasks", default=10, show_default=True, type=click.IntRange(1, 1000), help="Tasks a run, at most."
)
@click.option(
    "--teams", default=30, show_default=True, type=click.IntRange(1), help="Teams that the forecast is for."
)
@click.option("--show", "only_show", is_flag=True, help="Start none: print the checklist and the newest one.")
@click.option("--no-wait", is_flag=True, help="Do not wait for its end.")
@consent_options
@connection_options
def rehearse(
    client: Client, competition: str, tasks: int, teams: int, only_show: bool, no_wait: bool, **said: Any
) -> None:
    """Rehearse COMPETITION with its baselines in a hidden copy, through all phases, and forecast what it will need.

    Prints what happened as it happens, then machine hours, waiting times and disk for --teams teams.
    """
    if not only_show:
        wishes = {"tasks": tasks, "teams": teams}
        ask_first(
            lambda more: client.organize("POST", competition, "/rehearsals", {**wishes, **more}), **said
        )
    with outlasting(client):
        found, newest = _follow_rehearsal(client, competition, once=only_show or no_wait)
    _say_forecast(newest)
    for check in found["checklist"]:
        click.echo(
            f"[{'x' if check['done'] else ' '}] {check['title']}{'' if check['done'] else ': ' + check['words']}"
        )


def _follow_rehearsal(
    client: Client, competition: str, *, once: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Print what happens in the newest rehearsal, to its end or once; the last answer, and what it says of that one."""
    told = 0
    while True:
        found = client.organize("GET", competition, "/rehearsals")
        newest = (
            found["rehearsals"][0] if found["rehearsals"] else {"story": [], "ended_at": "", "forecast": []}
        )
        for line in newest["story"][told:]:
            click.echo(line)
        told = len(newest["story"])
        if once or newest["ended_at"]:
            return found, newest
        time.sleep(_ASK_EVERY)


def _say_forecast(rehearsal: dict[str, Any]) -> None:
    """What each phase would need."""
    for phase in rehearsal["forecast"]:
        click.echo(
            f"{phase['phase']}: {phase['submissions']:,} submissions of {rehearsal['teams']:,} teams, "
            f"{phase['typical']:,.0f} s each ({phase['cheapest']:,.0f} to {phase['dearest']:,.0f}), "
            f"{phase['hours']:,.1f} to {phase['most_hours']:,.1f} machine hours, {phase['bytes'] / 1e9:,.2f} GB. "
            f"{phase['words']}"
        )


@click.command()
@click.argument("competition")
@click.argument("new", required=False, type=click.Choice(STATES))
@consent_options
@connection_options
def state(client: Client, competition: str, new: str | None, **said: Any) -> None:
    """Say who sees COMPETITION and what it lacks, or make it a draft, published or archived."""
    if new is None:
        found = client.organize("GET", competition, "/state")
    else:
        found = ask_first(
            lambda more: client.organize("PUT", competition, "/state", {"state": new, **more}), **said
        )
    click.echo(f"{found['slug']} is {found['state']}.")
    for sentence in (*found["missing"], *found["odd"]):
        click.echo(sentence)


@click.command()
@click.argument("competition")
@click.argument("title", required=False)
@click.argument("file", required=False, type=_File)
@click.option(
    "--edit", "identity", metavar="ID", help="Write TITLE and FILE on the page instead; no message is sent."
)
@connection_options
def announce(
    client: Client, competition: str, title: str | None, file: Path | None, identity: str | None
) -> None:
    """List the announcements of COMPETITION, or announce TITLE, with the text of FILE, to all participants."""
    text = {} if file is None else {"body": file.read_text(encoding="utf-8")}
    if identity is not None:
        body = text if title is None else {"title": title, **text}
        client.organize("PATCH", competition, f"/announcements/{identity}", body)
    elif title is not None:
        client.organize("POST", competition, "/announcements", {"title": title, **text})
    for row in client.organize("GET", competition, "/announcements"):
        click.echo(f"{row['id']}  {moment_words(row['created_at']):22}  {row['title']}")


@click.command()
@click.argument("competition")
@click.option("--add", "url", help="Post events to this address from now on.")
@click.option("--event", "events", multiple=True, help="With --add: only this event; may be repeated.")
@click.option("--remove", "identity", metavar="ID", help="Remove a webhook.")
@connection_options
def webhooks(
    client: Client, competition: str, url: str | None, events: tuple[str, ...], identity: str | None
) -> None:
    """List the webhooks of COMPETITION with their last answers, add one, or remove one."""
    if url is not None:
        made = client.organize("POST", competition, "/webhooks", {"url": url, "events": list(events)})
        click.echo(f"{made['id']} is signed with {made['secret']}")
    if identity is not None:
        client.organize("POST", competition, f"/webhooks/{identity}/acts/remove")
    for row in client.organize("GET", competition, "/webhooks"):
        last = row["deliveries"][0] if row["deliveries"] else None
        words = (
            "nothing sent yet" if last is None else f"last {last['event']}: {last['status'] or last['error']}"
        )
        click.echo(f"{row['id']}  {'on ' if row['active'] else 'off'}  {row['url']}  {words}")


@click.command()
@click.argument("competition")
@click.option("--action", default="", help="Only this act, like phase.pause.")
@click.option("--who", default="", help="Only of this user.")
@click.option("--page", default=1, show_default=True, help="50 a page, newest first.")
@connection_options
def audit(client: Client, competition: str, action: str, who: str, page: int) -> None:
    """Print who did what in COMPETITION, and why."""
    wanted = {"action": action, "who": who, "page": page}
    found = client.organize("GET", competition, "/audit", params=wanted)
    for row in found["items"]:
        person = row["who"] or "the platform"
        click.echo(
            f"{moment_words(row['at']):22}  {person:20} {row['action']:24} {row['object_type']} {row['object_name']}"
            f"  {row['reason']}".rstrip()
        )
    click.echo(f"{count_of(found['total'], 'entry', 'entries')}, page {found['page']} of {found['pages']}.")


@click.command()
@click.argument("competition")
@click.argument("archive", metavar="ZIP", required=False, type=_File)
@click.option("--name", help="What the boards call it [the file's name].")
@click.option("--league", "leagues", multiple=True, help="On whose board it stands; may be repeated.")
@connection_options
def baseline(
    client: Client, competition: str, archive: Path | None, name: str | None, leagues: tuple[str, ...]
) -> None:
    """List the baselines of COMPETITION, or add ZIP as one; the token needs the scope submit too, to upload it."""
    if archive is not None:
        upload = client.upload(archive)
        body = {"name": name or archive.stem, "upload_id": upload["id"], "leagues": list(leagues)}
        client.organize("POST", competition, "/baselines", body)
    for row in client.organize("GET", competition, "/baselines"):
        click.echo(f"{row['key']:24} {row['name']:32} {', '.join(row['leagues'])}".rstrip())


COMMANDS = (about, page, values, files, clone, rehearse, state, announce, webhooks, audit, baseline)

"""`anyshot organize ...`: what organizers do at a platform, for scripts. It needs a token with the scope `organize`."""

import time
from pathlib import Path
from typing import Any

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options, outlasting
from anyshot_starting_kit.cli.acts import do_act, set_option, show_acts
from anyshot_starting_kit.cli.consent import ask_first, consent_options, send_act
from anyshot_starting_kit.cli.exits import Exit
from anyshot_starting_kit.cli.objects import ORGANIZED, show_command
from anyshot_starting_kit.cli.organize_files import file

_ENDED = ("finished", "failed", "cancelled", "timed_out")
_ASK_EVERY = 5.0  # seconds


def _new(key: str, path: str, about: str, *options: str, lists: tuple[str, ...] = ()) -> dict[str, Any]:
    wanted = {name: {"type": "array"} if name in lists else {} for name in (*options, *lists)}
    return {"key": key, "path": path, "about": about, "undo": "", "options": wanted}


# What makes something new stands in no list of the platform: there is no object yet.
NEW = {
    row["key"]: row
    for row in (
        _new("competition.create", "", "Create an empty draft with the short name COMPETITION", "title"),
        _new(
            "competition.clone", "", "Create a draft of all but people and results", "slug", "title", "start"
        ),
        _new("member.add", "", "Invite somebody, or give a member a role", "username", "role"),
        _new(
            "pool.create", "/{pool_slug}", "Create a pool of the competition, or of your own", "competition"
        ),
        _new("webhook.add", "", "Post events to an address", "url", lists=("events",)),
    )
}


@click.group()
def organize() -> None:
    """Manage a competition that you organize."""


@organize.command()
@click.argument("competition")
@click.argument("only", metavar="[WORD]", required=False, default="")
@connection_options
def acts(client: Client, competition: str, only: str) -> None:
    """List what can be done to COMPETITION and all in it, or the acts with WORD in their names: for `do`."""
    show_acts([*client.organize("GET", competition, "/acts"), *NEW.values()], only)


@organize.command()
@click.argument("competition")
@click.argument("key", metavar="ACT")
@click.argument("objects", nargs=-1, metavar="[OBJECT]...")
@set_option
@consent_options
@connection_options
def do(
    client: Client, competition: str, key: str, objects: tuple[str, ...], values: tuple[str, ...], **said: Any
) -> None:
    """Do ACT, like phase.open, to OBJECT, with the words that `acts` lists; prints the answer as JSON.

    An act that takes one word takes several: it is done to each, and the answer names those that were left out.
    """

    def send(path: str, options: dict[str, Any]) -> Any:
        if key in NEW:
            return _create(client, competition, key, path.removeprefix("/"), options, said)
        if path.startswith("/pools/"):  # of a competition, or of one's own
            return ask_first(lambda more: client.ask("POST", path, {**options, **more}), **said)
        return send_act(client, competition, path, options, **said)

    rows = list(NEW.values())
    do_act(
        rows if key in NEW else client.organize("GET", competition, "/acts") + rows,
        key,
        objects,
        values,
        send,
    )


def _create(
    client: Client, competition: str, key: str, name: str, options: dict[str, Any], said: dict[str, Any]
) -> Any:
    if key == "member.add":
        return send_act(client, competition, "/people", options, **said)
    if key == "competition.create":
        return client.ask("POST", "/competitions", {"slug": competition, **options})
    if key == "pool.create":
        return client.ask("POST", "/pools", {"slug": name, "competition": competition, **options})
    path = {"competition.clone": "/clone", "webhook.add": "/webhooks"}[key]
    return client.organize("POST", competition, path, options)


@organize.command()
@click.argument("competition")
@click.argument("phase")
@click.argument("analysis")
@click.option("--league", help="Of a board; the first one if left out.")
@click.option(
    "--submission", "submissions", multiple=True, metavar="ID", help="What a report on submissions is about."
)
@click.option("--set", "values", multiple=True, metavar="NAME=NUMBER", help="A setting of the report.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for its page and data.")
@connection_options
def report(
    client: Client,
    competition: str,
    phase: str,
    analysis: str,
    league: str | None,
    submissions: tuple[str, ...],
    values: tuple[str, ...],
    out: Path | None,
) -> None:
    """Have a worker compute the report ANALYSIS on PHASE, and wait for it."""
    chosen = {name: number for name, _, number in (value.partition("=") for value in values)}
    body = {"analysis": analysis, "phase": phase, "league": league, "settings": chosen}
    if submissions:
        body["submissions"] = list(submissions)
    found = client.organize("POST", competition, "/reports", body)
    with outlasting(client):
        while found["state"] not in _ENDED:
            time.sleep(1.0)
            found = client.organize("GET", competition, f"/reports/{found['id']}")
    if found["state"] != "finished":
        click.echo(f"The report {found['state']}: {found['message']}", err=True)
        raise SystemExit(Exit.FAILED)
    click.echo(found["result"]["finding"])
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name in ("page.html", "result.json", "table.parquet"):
            path = f"/competitions/{competition}/manage/reports/{found['id']}/files/{name}"
            client.fetch(path, out / name)
        click.echo(f"Written to {out}.")


@organize.command()
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


for command in (show_command(ORGANIZED), file):
    organize.add_command(command)

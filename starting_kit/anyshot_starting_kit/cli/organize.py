"""`anyshot organize ...`: what organizers do at a platform, for scripts. It needs a token with the scope `organize`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from anyshot_core.client import Client
from anyshot_core.words import count_of, decimal_words
from anyshot_starting_kit.cli.account import connection_options, outlasting
from anyshot_starting_kit.cli.acts import do_act, set_option, show_acts
from anyshot_starting_kit.cli.consent import consent_options, send_act, warned
from anyshot_starting_kit.cli.exits import Exit
from anyshot_starting_kit.cli.organize_acts import ACT_COMMANDS
from anyshot_starting_kit.cli.organize_bundles import BUNDLE_COMMANDS
from anyshot_starting_kit.cli.organize_entries import ENTRY_COMMANDS
from anyshot_starting_kit.cli.organize_pools import pool
from anyshot_starting_kit.cli.organize_texts import COMMANDS

ACTS = ("rerun", "rescore", "cancel", "disqualify", "qualify", "refund", "charge", "delete", "restore")
ENDED = ("finished", "failed", "cancelled", "timed_out")


@click.group()
def organize() -> None:
    """Manage a competition that you organize."""


@organize.command()
@click.argument("competition")
@connection_options
def phases(client: Client, competition: str) -> None:
    """List the phases of COMPETITION."""
    for phase in client.organize("GET", competition, "/phases"):
        settings = phase["settings"]
        click.echo(
            f"{phase['key']:20} {phase['status']:9} {phase['submissions']:6} submissions  "
            f"{settings['start']} to {settings['end'] or 'no end'}"
        )


@organize.command()
@click.argument("competition")
@click.argument("phase")
@click.argument("name", metavar="ACT")
@consent_options
@connection_options
def phase(client: Client, competition: str, phase: str, name: str, **said: Any) -> None:
    """Do ACT to PHASE: open, close, pause, resume, freeze, publish-key, delete, ...; `acts` lists them."""
    _tell(send_act(client, competition, f"/phases/{phase}/acts/{name}", **said))


@organize.command()
@click.argument("competition")
@click.argument("phase")
@click.argument("end", required=False)
@consent_options
@connection_options
def extend(client: Client, competition: str, phase: str, end: str | None, **said: Any) -> None:
    """Move the end of PHASE to END, like 2026-09-01T00:00:00Z; without END it stays open."""
    state = send_act(client, competition, f"/phases/{phase}/acts/extend", {"end": end}, **said)
    _tell(state, f" and ends {state['settings']['end'] or 'never'}")


def _tell(state: dict[str, Any], more: str = "") -> None:
    """Print where a phase stands after an act."""
    status = "deleted" if state["deleted_at"] else state["status"]
    board = ", its board is frozen" if state["frozen"] else ""
    click.echo(f"{state['key']} is {status}{board}{more}.")


@organize.command()
@click.argument("competition")
@click.argument("only", metavar="[WORD]", required=False, default="")
@connection_options
def acts(client: Client, competition: str, only: str) -> None:
    """List what can be done to COMPETITION and all in it, or the acts with WORD in their names: for `do`."""
    show_acts(client.organize("GET", competition, "/acts"), only)


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

    An act that takes one word takes several: it is done to each, and who is left out is named.
    """

    def send(path: str, options: dict[str, Any]) -> Any:
        return send_act(client, competition, path, options, **said)

    do_act(client.organize("GET", competition, "/acts"), key, objects, values, send)


@organize.command()
@click.argument("competition")
@click.argument("phase")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@connection_options
def settings(client: Client, competition: str, phase: str, file: Path | None) -> None:
    """Print the settings of PHASE as JSON, or set those that FILE has; a phase that is not there is created."""
    if file is not None:
        wanted = json.loads(file.read_text(encoding="utf-8"))
        known = {row["key"] for row in client.organize("GET", competition, "/phases")}
        method, path = ("PATCH", f"/phases/{phase}") if phase in known else ("POST", "/phases")
        client.organize(method, competition, path, {**wanted, "key": phase})
    found = client.organize("GET", competition, f"/phases/{phase}")
    click.echo(json.dumps(found["settings"], indent=2))


@organize.command()
@click.argument("competition")
@click.option("--phase", default="", help="Only of this phase.")
@click.option("--status", default="", help="queued, running, finished, failed or cancelled.")
@click.option("--text", default="", help="In team, user or comment, or the beginning of an id.")
@click.option(
    "--sort", default="-created", show_default=True, help="created, score, finished, size; - reverses."
)
@click.option("--page", default=1, show_default=True, help="50 a page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@connection_options
def submissions(client: Client, competition: str, page: int, as_json: bool, **wanted: str) -> None:
    """List submissions."""
    found = client.organize("GET", competition, "/submissions", params={**wanted, "page": page})
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for row in found["items"]:
        score = "" if row["score"] is None else decimal_words(row["score"])
        mark = " disqualified" if row["disqualified"] is not None else ""
        click.echo(f"{row['id']}  {row['phase']:12} {row['team']:24} {row['status']:10} {score:>7}{mark}")
    click.echo(f"{count_of(found['total'], 'submission')}, page {found['page']} of {found['pages']}.")


@organize.command()
@click.argument("competition")
@click.argument("act", type=click.Choice(ACTS))
@click.argument("ids", nargs=-1)
@click.option("--phase", default="", help="Instead of ids: all of this phase.")
@click.option("--status", default="", help="Instead of ids: all in this state.")
@click.option("--reason", default="", help="A disqualification needs one: the team sees it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@connection_options
def act(
    client: Client,
    competition: str,
    act: str,
    ids: tuple[str, ...],
    phase: str,
    status: str,
    reason: str,
    yes: bool,
) -> None:
    """Do ACT to the submissions IDS, or to all of a phase or in a state."""
    if bool(ids) == bool(phase or status):
        raise click.UsageError("Give ids, or --phase or --status.")
    chosen: dict[str, Any] = {"ids": list(ids)} if ids else {"filter": {"phase": phase, "status": status}}
    if not ids and not yes:
        wanted = {"phase": phase, "status": status}
        total = client.organize("GET", competition, "/submissions", params=wanted)["total"]
        if total == 0:
            click.echo("No submission is there, or none in that state: nothing was done.")
            return
        click.confirm(f"{act} {count_of(total, 'submission')}?", abort=True)
    body = {"act": act, "reason": reason, **chosen}
    outcome = warned(client.organize("POST", competition, "/submissions/acts", body))
    click.echo(f"{act}: {count_of(len(outcome['done']), 'submission')}.")
    for identity, why in outcome["skipped"].items():
        click.echo(f"{identity}: {why}", err=True)
    if outcome["undo"] and outcome["done"]:
        click.echo(
            f"To undo: anyshot organize act {competition} {outcome['undo']} {' '.join(outcome['done'])}"
        )


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
        while found["state"] not in ENDED:
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


for command in (*ACT_COMMANDS, pool, *COMMANDS, *ENTRY_COMMANDS, *BUNDLE_COMMANDS):
    organize.add_command(command)

"""The commands of `anyshot organize` for entries and for teams in leagues that ask."""

from __future__ import annotations

import json
from typing import Any

import click

from anyshot_core.client import Client
from anyshot_core.words import count_of, decimal_words
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.consent import consent_options, send_act, warned

ACTS = ("admit", "refuse", "disqualify", "qualify")


@click.command()
@click.argument("competition")
@click.argument("act", type=click.Choice(["list", *ACTS]), default="list")
@click.argument("ids", nargs=-1)
@click.option("--phase", default="", help="With list: only of this phase.")
@click.option("--league", default="", help="With list: only of this league.")
@click.option("--state", default="", help="With list: standing, held_back, refused, withdrawn, ...")
@click.option("--text", default="", help="With list: a part of the team's name.")
@click.option("--page", default=1, show_default=True, help="With list: 50 a page.")
@click.option("--reason", default="", help="A refusal or disqualification needs one: the team sees it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@connection_options
def entries(
    client: Client,
    competition: str,
    act: str,
    ids: tuple[str, ...],
    reason: str,
    as_json: bool,
    **wanted: Any,
) -> None:
    """List what each team has in each league of each phase, or do ACT to the entries IDS."""
    if (act == "list") == bool(ids):
        raise click.UsageError(
            "Give the ids of entries with admit, refuse, disqualify and qualify, and only there."
        )
    if ids:
        body = {"act": act, "ids": list(ids), "reason": reason}
        found = warned(client.organize("POST", competition, "/entries/acts", body))
        click.echo(f"{act}: {count_of(len(found['done']), 'entry', 'entries')}.")
        for identity, why in found["skipped"].items():
            click.echo(f"{identity}: {why}", err=True)
        return
    params = {key: value for key, value in wanted.items() if value}
    found = client.organize("GET", competition, "/entries", params=params)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for row in found["items"]:
        score = "" if row["score"] is None else decimal_words(row["score"])
        words = f"{row['phase']:12} {row['league']:20} {row['team']:24} no. {row['number']} {score:>7} {row['state']}"
        click.echo(f"{row['id']}  {words} {row['reason']}".rstrip())
    click.echo(f"{count_of(found['total'], 'entry', 'entries')}, page {found['page']} of {found['pages']}.")


@click.command()
@click.argument("competition")
@click.argument("league", required=False, default="")
@click.argument("act", type=click.Choice(["list", "admit", "refuse"]), default="list")
@click.argument("names", nargs=-1, metavar="TEAM ...")
@consent_options
@connection_options
def teams(
    client: Client, competition: str, league: str, act: str, names: tuple[str, ...], **said: Any
) -> None:
    """List the teams in leagues that ask, with their members' answers, or admit or refuse TEAMs in LEAGUE."""
    rows = client.organize("GET", competition, "/leagues/teams")
    leagues = client.organize("GET", competition, "/leagues")
    known = [row["settings"]["key"] for row in leagues if not row["deleted"]]
    if league and league not in known:
        raise click.UsageError(f"There is no league {league}. There are: {', '.join(known) or 'none'}.")
    if act != "list":
        ids = {row["team_name"]: row["team"] for row in rows if row["league"] == league}
        unknown = set(names) - set(ids)
        if unknown or not names:
            there = ", ".join(ids) or "none"
            raise click.UsageError(
                f"{', '.join(sorted(unknown)) or 'No team'}: teams in {league or 'the league'}: {there}."
            )
        body = {
            "league": league,
            "teams": [ids[name] for name in names],
            "admit": act == "admit",
        }
        changed = send_act(client, competition, "/leagues/teams/decide", body, **said)["changed"]
        click.echo(f"{act}: {changed} of {count_of(len(names), 'team')}.")
        return
    shown = [row for row in rows if league in ("", row["league"])]
    for row in shown:
        _show(row)
    click.echo(f"{count_of(len(shown), 'team')}.")


def _show(row: dict[str, Any]) -> None:
    click.echo(f"{row['league']:20} {row['team_name']:24} {row['status']} {row['reason']}".rstrip())
    for person in row["people"]:
        about = ", ".join(word for word in (person["name"], person["affiliation"], person["country"]) if word)
        said = (
            "has not answered"
            if person["answers"] is None
            else ", ".join(f"{key}: {value}" for key, value in person["answers"].items())
        )
        click.echo(
            f"    {person['username']} ({about}): {said}" if about else f"    {person['username']}: {said}"
        )


ENTRY_COMMANDS = (entries, teams)

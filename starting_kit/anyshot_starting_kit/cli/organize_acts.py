"""The commands of `anyshot organize` for acts that ask first: final phases, pools, versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

import click

from anyshot_core.client import Client
from anyshot_core.words import count_of
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.consent import consent_options, send_act

_FINAL_STEPS = (
    "preview",
    "launch",
    "failed",
    "repeat",
    "winners",
    "verify",
    "publish",
    "correct",
    "unpublish",
)


@click.command()
@click.argument("competition")
@click.argument("phase")
@click.argument("step", type=click.Choice(_FINAL_STEPS))
@click.option("--winners", default=0, show_default=True, help="Publish the code of so many of each league.")
@click.option(
    "--replace",
    multiple=True,
    metavar="TEAM",
    help="With launch: let what finished after the launch take the place of this team's entry; may be repeated.",
)
@click.option("--member", default="", metavar="USER", help="With verify: a member of a winning team.")
@click.option(
    "--identity",
    type=click.Choice(["verified", "refused", "open"]),
    default="verified",
    show_default=True,
    help="With verify: what came of it; --reason says how it was checked.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@consent_options
@connection_options
def final(
    client: Client,
    competition: str,
    phase: str,
    step: str,
    winners: int,
    replace: tuple[str, ...],
    member: str,
    identity: str,
    as_json: bool,
    **said: Any,
) -> None:
    """Preview who enters the final PHASE, launch their runs, repeat what failed, verify the winners, publish."""
    path = f"/phases/{phase}/final"
    found: Any
    show: Callable[[Any], None]
    if step in ("winners", "verify"):
        found, show = _verify(client, competition, path, step, member, identity, **said), _show_winners
    elif step in ("failed", "repeat"):
        found, show = _failed(client, competition, path, step, **said), partial(_show_failed, step)
    elif step == "preview":
        found, show = client.organize("GET", competition, path), _show_candidates
    elif step == "launch":
        rows = client.organize("GET", competition, path)
        if not as_json:
            _show_candidates(rows)
        body = {"expected": _waiting(rows, replace), "replace": _ids(rows, replace)}
        found, show = send_act(client, competition, f"{path}/acts/launch", body, **said), _show_launched
    else:
        body = {"winners": winners} if step == "publish" else {}
        found = send_act(client, competition, f"{path}/acts/{step}", body, **said)
        show = partial(_show_published, phase)
    if as_json:
        click.echo(json.dumps(found, indent=1))
    else:
        show(found)


def _show_launched(done: dict[str, Any]) -> None:
    click.echo(f"{count_of(len(done['submissions']), 'entry is', 'entries are')} queued.")


def _show_published(phase: str, found: dict[str, Any]) -> None:
    words = "are public" if found["published_at"] else "are hidden"
    click.echo(
        f"The results of {phase} {words}; the code of {count_of(len(found['code_of']), 'submission')} too."
    )


def _verify(
    client: Client, competition: str, path: str, step: str, member: str, identity: str, **said: Any
) -> list[dict[str, Any]]:
    """The winners, once what was found about one of their members is noted."""
    if step == "winners":
        return client.organize("GET", competition, f"{path}/winners")
    if not member:
        raise click.UsageError("Name whom you have checked: --member USER.")
    act = f"{path}/winners/{member}/acts/check"
    return send_act(client, competition, act, {"identity": identity}, **said)["items"]


def _show_winners(rows: list[dict[str, Any]]) -> None:
    """Print who wins what, and whose identity is known."""
    for row in rows:
        click.echo(f"{row['team']}: {'; '.join(row['prizes'])}")
        for one in row["members"]:
            who = ", ".join(filter(None, (one["name"], one["email"], one["affiliation"], one["country"])))
            click.echo(f"  {one['username']:24} {one['identity']:10} {one['reason']}  {who}".rstrip())
    if not rows:
        click.echo("Nobody wins anything yet.")


def _failed(client: Client, competition: str, path: str, step: str, **said: Any) -> list[dict[str, Any]]:
    """The entries without a score, or those whose runs are queued again."""
    if step == "failed":
        return client.organize("GET", competition, f"{path}/failed")
    return send_act(client, competition, f"{path}/acts/repeat", **said)["items"]


def _show_failed(step: str, rows: list[dict[str, Any]]) -> None:
    """Print why entries have no score, and how many of their runs are repeated."""
    for row in rows:
        click.echo(row["words"])
    number = sum(len(row["runs"]) for row in rows if row["repeated"])
    if step == "repeat" or not rows:
        queued = f"{number} {'run is' if number == 1 else 'runs are'} queued again."
        click.echo(queued if rows else "No run of this phase waits to be repeated.")


def _waiting(rows: list[dict[str, Any]], replace: tuple[str, ...]) -> int:
    """How many are to be launched: of those launched before only the teams to be replaced."""
    new = [row for row in rows if row["enters"] and not row["launched"]]
    return sum(row["replaces"] is None or row["team"] in replace for row in new)


def _ids(rows: list[dict[str, Any]], replace: tuple[str, ...]) -> list[str]:
    """The ids of the teams; raises where nothing of one finished after the launch."""
    ids = {row["team"]: row["team_id"] for row in rows if row["replaces"] is not None}
    unknown = ", ".join(name for name in replace if name not in ids)
    if unknown:
        known = ", ".join(ids) or "none"
        raise click.UsageError(
            f"{unknown}: nothing of it waits to replace an entry. Teams that could: {known}."
        )
    return [ids[name] for name in replace]


def _show_candidates(rows: list[dict[str, Any]]) -> None:
    """Print who enters and why the others do not."""
    for row in rows:
        state = "launched" if row["launched"] else "enters" if row["enters"] else "stays out"
        if row["replaces"] is not None:
            state = "waits"
        words = f"{', '.join(row['leagues'])} {'; '.join(row['reasons'])}"
        click.echo(f"{row['team']:24} {state:10} {words}".rstrip())


@click.command()
@click.argument("competition")
@click.argument("phase")
@click.argument("number", type=int, required=False)
@click.argument(
    "step", required=False, type=click.Choice(["show", "rescore", "live", "discard"]), default="show"
)
@click.option(
    "--mode", default="everything", show_default=True, help="With rescore: score, meta_test or everything."
)
@consent_options
@connection_options
def version(
    client: Client, competition: str, phase: str, number: int | None, step: str, mode: str, **said: Any
) -> None:
    """List the versions of PHASE, or score the submissions under version NUMBER, make it live, discard it."""
    path = f"/phases/{phase}/versions"
    if number is not None and step != "show":
        name, body = "make-live" if step == "live" else step, {"mode": mode} if step == "rescore" else {}
        send_act(client, competition, f"{path}/{number}/acts/{name}", body, **said)
    for row in client.organize("GET", competition, path):
        mark = "live" if row["live"] else row["state"]
        click.echo(
            f"{row['number']:4} {mark:10} {row['ended']} of {row['runs']} runs ended  {row['reason']}".rstrip()
        )


@click.command()
@click.argument("competition")
@click.argument("step", required=False, type=click.Choice(["list", "hide", "show"]), default="list")
@click.argument("team", required=False)
@consent_options
@connection_options
def code(client: Client, competition: str, step: str, team: str | None, **said: Any) -> None:
    """List the teams whose code was published, hide the code of TEAM (its name), or show it again."""
    rows = client.organize("GET", competition, "/code")
    if step != "list":
        if team is None:
            raise click.UsageError(f"Name the team whose code you want to {step}.")
        path = f"/code/{_team_of(client, competition, rows, team)}/acts/{step}"
        done = send_act(client, competition, path, **said)
        click.echo(done["message"])
        return
    for row in rows:
        state = "hidden" if row["hidden"] else "public"
        click.echo(f"{row['name']:24} {state:8} {' '.join(row['submissions'])}".rstrip())


@click.command()
@click.argument("competition")
@click.argument("username", required=False, default="")
@click.option("--to", default="", metavar="TEAM", help="The name of the team to move to.")
@click.option("--alone", is_flag=True, help="Move to a team of their own.")
@click.option(
    "--invite",
    default=None,
    type=click.Choice(["participant", "reviewer", "organizer", "owner"]),
    help="Invite as that; a member gets the role at once.",
)
@consent_options
@connection_options
def members(
    client: Client, competition: str, username: str, to: str, alone: bool, invite: str | None, **said: Any
) -> None:
    """List the members of COMPETITION, invite USERNAME, or move them to another team; both teams see the reason."""
    if not username:
        _show_members(client, competition)
        return
    if (bool(to), alone, invite is not None).count(True) != 1:
        raise click.UsageError(
            "Say what: --invite ROLE, or where to: --to TEAM, or --alone for a team of their own."
        )
    if invite is not None:
        row = send_act(client, competition, "/people", {"username": username, "role": invite}, **said)
        click.echo(f"{row['username']} is {row['role']}, {row['status']}.")
        return
    moved = send_act(
        client, competition, f"/people/{quote(username, safe='')}/acts/move", {"team": to}, **said
    )
    click.echo(f"{moved['username']} is in “{moved['team']['name']}” now.")


def _show_members(client: Client, competition: str) -> None:
    number, pages = 1, 1
    while number <= pages:
        found = client.organize("GET", competition, "/people", params={"page": number})
        for row in found["items"]:
            team = row["team"]["name"] if row["team"] else ""
            click.echo(f"{row['username']:24} {row['role']:12} {row['status']:10} {team}".rstrip())
        number, pages = number + 1, found["pages"]


def _team_of(client: Client, competition: str, rows: list[dict[str, Any]], name: str) -> str:
    """The id of a team with code, or of any team that a member is in."""
    known = {row["name"]: row["team"] for row in rows}
    if name not in known:
        found = client.organize("GET", competition, "/people", params={"q": name})["items"]
        known = {row["team"]["name"]: row["team"]["id"] for row in found if row["team"]}
    if name not in known:
        raise click.UsageError(f"There is no team “{name}” in {competition}.")
    return known[name]


ACT_COMMANDS = (final, version, code, members)

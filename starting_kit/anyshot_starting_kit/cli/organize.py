"""`anyshot organize ...`: what organizers do at a platform, for scripts. It needs a token with the scope `organize`."""

from typing import Any

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.acts import do_act, set_option, show_acts
from anyshot_starting_kit.cli.consent import ask_first, consent_options, send_act
from anyshot_starting_kit.cli.objects import ORGANIZED, show_command
from anyshot_starting_kit.cli.organize_files import file
from anyshot_starting_kit.cli.organize_jobs import rehearse, report


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


organize.add_command(show_command(ORGANIZED))
for command in (file, rehearse, report):
    organize.add_command(command)

"""`anyshot administer ...`: what administrators do to accounts, workers, their tokens and images, for scripts.

It needs an administrator's token with the scope `organize`.
"""

from __future__ import annotations

from typing import Any

import click

from anyshot_core.client import Client
from anyshot_core.words import moment_words
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.acts import do_act, set_option, show_acts
from anyshot_starting_kit.cli.consent import ask_first, consent_options


@click.group()
def administer() -> None:
    """Look after the accounts, workers, tokens and images of a site that you administer."""


@administer.command()
@click.argument("only", metavar="[WORD]", required=False, default="")
@connection_options
def acts(client: Client, only: str) -> None:
    """List what administrators can do, or the acts with WORD in their names: for `do`."""
    show_acts(client.ask("GET", "/admin/acts"), only)


@administer.command()
@click.argument("key", metavar="ACT")
@click.argument("objects", nargs=-1, metavar="NAME...")
@set_option
@consent_options
@connection_options
def do(client: Client, key: str, objects: tuple[str, ...], values: tuple[str, ...], **said: Any) -> None:
    """Do ACT, like user.block or worker.pause, to NAME (or its id), and print the answer as JSON.

    With several names it is done to each, and who is left out is named. What an act makes, like
    worker.token, is named with --set.
    """

    def send(path: str, options: dict[str, Any]) -> Any:
        return ask_first(lambda more: client.ask("POST", f"/admin{path}", {**options, **more}), **said)

    do_act(client.ask("GET", "/admin/acts"), key, objects, values, send)


@administer.command()
@click.argument("text", required=False, default="")
@connection_options
def users(client: Client, text: str) -> None:
    """List the accounts, or those with TEXT in name or e-mail address."""
    number, pages = 1, 1
    while number <= pages:
        found = client.ask("GET", "/admin/users", params={"q": text, "page": number})
        for row in found["items"]:
            marks = {"administrator": row["is_site_admin"], "organizes": row["may_organize"]}
            marks |= {"blocked": row["blocked_at"], "deleted": row["deleted_at"]}
            words = ", ".join(word for word, holds in marks.items() if holds)
            click.echo(f"{row['username']:24} {row['email'] or '':32} {words}".rstrip())
        number, pages = number + 1, found["pages"]


@administer.command()
@connection_options
def alerts(client: Client) -> None:
    """List the alerts that are open, with their ids: `do alert.close ID` closes what is dealt with."""
    for row in client.ask("GET", "/admin/alerts"):
        click.echo(f"{moment_words(row['since']):22}  {row['kind']:16} {row['id']}  {row['message']}")


@administer.command()
@connection_options
def workers(client: Client) -> None:
    """List the workers of the last week, the tokens with which machines call, and the sandbox images."""
    for row in client.ask("GET", "/admin/workers"):
        state = "stopped" if row["stopped_at"] else "paused" if row["paused_at"] else "ready"
        seen = moment_words(row["last_seen_at"])
        click.echo(f"worker {row['name']:24} {row['hardware_class']:12} {state:8} {row['id']}  seen {seen}")
    for row in client.ask("GET", "/admin/worker-tokens"):
        state = "revoked" if row["revoked_at"] else "valid"
        click.echo(f"token  {row['name']:24} {row['hardware_class'] or 'any':12} {state:8} {row['id']}")
    for row in client.ask("GET", "/admin/images"):
        state = "offered" if row["enabled"] else "off"
        click.echo(f"image  {row['name']:24} {'':12} {state:8} {row['description']}".rstrip())

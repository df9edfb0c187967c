"""`anyshot organize transfer` and `receive`, `anyshot places`: competitions that move between sites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.consent import ask_first, consent_options
from anyshot_starting_kit.cli.new_file import must_be_new, say_written


@click.command()
@click.argument("competition")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--emails", is_flag=True, help="With confirmed e-mail addresses; for site administrators.")
@consent_options
@connection_options
def transfer(client: Client, competition: str, file: Path, emails: bool, **said: Any) -> None:
    """Write COMPETITION to the archive FILE, for another site: with people, submissions, scores and secrets."""
    must_be_new(file)
    path = f"/competitions/{competition}/manage/transfer"
    ask_first(lambda more: client.fetch(path, file, {"emails": emails, **more}), **said)
    say_written(file, secret=True)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--slug", default="", help="Short name in addresses, instead of the archive's.")
@connection_options
def receive(client: Client, file: Path, slug: str) -> None:
    """Take in the competition of the archive FILE, which another site wrote; it is a draft of yours."""
    made = client.send_archive(file, slug)
    for notice in made["notices"]:
        click.echo(f"note: {notice}")
    click.echo(f"Taken in as {made['slug']}.")


@click.command()
@click.argument("code", required=False, default="")
@click.option("--of", "competition", default="", help="A competition here that knows your confirmed address.")
@connection_options
def places(client: Client, code: str, competition: str) -> None:
    """List your codes for other sites and your places here; claim a place by the CODE of the other site."""
    if code or competition:
        made = client.ask("POST", "/me/places", {"code": code, "competition": competition})
        click.echo(
            f"You are {made['role']} of {made['competition']}, with all that was done from your place."
        )
        return
    found = client.ask("GET", "/me/places")
    for row in found["codes"]:
        click.echo(f"{row['competition']}: on the site it was taken to, anyshot places {row['code']}")
    for row in found["known"]:
        click.echo(
            f"{row['competition']}: your place there was {row['name']}; anyshot places --of {row['competition']}"
        )
    if not found["codes"] and not found["known"]:
        click.echo("No competition of yours was taken to another site, and none here waits for you.")


TRANSFER_COMMANDS = (transfer, receive)

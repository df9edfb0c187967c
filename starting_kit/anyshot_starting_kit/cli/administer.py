"""`anyshot administer ...`: what administrators do to accounts, workers, their tokens and images, for scripts.

It needs an administrator's token with the scope `organize`.
"""

from typing import Any

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.acts import do_act, set_option, show_acts
from anyshot_starting_kit.cli.consent import ask_first, consent_options
from anyshot_starting_kit.cli.objects import ADMINISTERED, show_command


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

    With several names it is done to each, and the answer names those that were left out. What an act makes, like
    worker.token, is named with --set.
    """

    def send(path: str, options: dict[str, Any]) -> Any:
        return ask_first(lambda more: client.ask("POST", f"/admin{path}", {**options, **more}), **said)

    do_act(client.ask("GET", "/admin/acts"), key, objects, values, send)


administer.add_command(show_command(ADMINISTERED))

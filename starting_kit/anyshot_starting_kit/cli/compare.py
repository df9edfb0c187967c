"""`anyshot compare`: whether one submission is better than another."""

import json

import click

from anyshot_core.client import Client
from anyshot_core.words import decimal_words
from anyshot_starting_kit.cli.account import connection_options, which_submission


@click.command()
@click.argument("submission")
@click.argument("other")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@connection_options
def compare(client: Client, submission: str, other: str, as_json: bool) -> None:
    """Say which of two submissions to one phase is better, and how sure that is.

    SUBMISSION and OTHER are numbers or ids of submissions that you may read; OTHER may be a baseline of the board.
    """
    first, second = (which_submission(client, one) for one in (submission, other))
    found = client.compare(first, second)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for side in ("first", "second"):
        score = found[f"{side}_score"]
        click.echo(f"{found[side]}" + ("" if score is None else f": {decimal_words(score)}"))
    click.echo(found["words"])

"""`anyshot announcements`: what the organizers of a competition told all participants."""

import json

import click

from anyshot_core.client import Client
from anyshot_core.taskserver.loglines import clean
from anyshot_core.words import moment_words
from anyshot_starting_kit.cli.account import connection_options


@click.command()
@click.argument("competition")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@connection_options
def announcements(client: Client, competition: str, as_json: bool) -> None:
    """Read the announcements of COMPETITION, newest first."""
    found = client.announcements(competition)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for row in found:
        click.echo(f"{moment_words(row['created_at']):22}  {clean(row['title'])}")
        if row["body"]:
            click.echo("\n".join(map(clean, row["body"].splitlines())) + "\n")
    if not found:
        click.echo("Nothing has been announced yet.")

"""`anyshot mute`: the competitions of which one wants to hear nothing."""

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options


@click.command()
@click.argument("competition", required=False)
@click.option("--off", is_flag=True, help="Unmute it.")
@connection_options
def mute(client: Client, competition: str | None, off: bool) -> None:
    """Get no more messages about COMPETITION; without it, show which are muted.

    What concerns your registration, your team or a report of yours still comes.
    """
    if off and not competition:
        raise click.UsageError("Which competition? Give its short name.")
    muted = client.mute(competition, muted=not off) if competition else client.muted()
    click.echo(f"Muted: {', '.join(muted)}" if muted else "No competition is muted.")

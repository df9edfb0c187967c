"""`anyshot cancel`."""

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options, which_submission


@click.command()
@click.argument("submission", required=False)
@connection_options
def cancel(client: Client, submission: str | None) -> None:
    """Cancel SUBMISSION (its number or id; without it your latest)."""
    state = client.cancel(which_submission(client, submission))
    counts = "counts" if state["counts_quota"] else "does not count"
    name = f"{state['competition']}/{state['phase']}/{state['number']}"
    status = "being cancelled" if state["status"] == "running" else state["status"]
    click.echo(f"Submission {name} is {status}: {client.page_of(state['id'])}")
    click.echo(f"It {counts} towards the quota. {state['quota_reason']}")

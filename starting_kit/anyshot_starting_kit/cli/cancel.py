"""`anyshot cancel`."""

from __future__ import annotations

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
    click.echo(
        f"Submission {state['id']} is {state['status']}; it {counts} towards the quota. {state['quota_reason']}"
    )

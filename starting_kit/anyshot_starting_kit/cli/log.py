"""`anyshot log`."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from anyshot_core.client import ENDED, Client
from anyshot_starting_kit.cli.account import connection_options, which_submission


@click.command()
@click.argument("submission", required=False)
@click.option("--follow", is_flag=True, help="Go on until the submission has ended.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@connection_options
def log(client: Client, submission: str | None, follow: bool, as_json: bool) -> None:
    """Print the log of SUBMISSION (its number or id; the last one made without it)."""
    submission_id = which_submission(client, submission)
    after, before = 0, None
    while True:
        ended = not follow or client.submission(submission_id)["status"] in ENDED
        while lines := client.log(submission_id, after):
            for line in lines:
                attempt = line["run_id"], line.get("epoch")  # older platforms do not tell
                if before not in (None, attempt) and not as_json:
                    click.echo("---- another attempt or run ----")
                before = attempt
                click.echo(json.dumps(line) if as_json else _text(line))
            after = lines[-1]["id"]
        if ended:
            break
        time.sleep(0.5)
    if not as_json:
        _tell_missing(client.submission(submission_id))


def _tell_missing(state: dict[str, Any]) -> None:
    """Say how many lines came that the platform does not keep; older platforms do not tell."""
    missing = sum(run.get("log_lines_missing", 0) for run in state["runs"])
    if missing:
        click.echo(f"---- {missing:,} more lines came than the platform keeps of one log. ----")


def _text(line: dict[str, Any]) -> str:
    return f"{line['at'][11:19]} {line['stream']:>8} | {line['text']}"

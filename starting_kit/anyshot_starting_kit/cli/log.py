"""`anyshot log`."""

import json
import time
from collections.abc import Iterator
from typing import Any

import click

from anyshot_core.client import ENDED, Client
from anyshot_starting_kit.cli.account import connection_options, outlasting, which_submission


@click.command()
@click.argument("submission", required=False)
@click.option("--follow", is_flag=True, help="Keep printing until the submission has ended.")
@click.option("--find", default="", metavar="TEXT", help="Print only lines that contain TEXT, ignoring case.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@connection_options
def log(client: Client, submission: str | None, follow: bool, find: str, as_json: bool) -> None:
    """Print the log of SUBMISSION (its number or id; without it your latest)."""
    submission_id = which_submission(client, submission)
    reading = LogReading(client, submission_id, find)
    with outlasting(client, follow=follow):
        while True:
            ended = not follow or client.submission(submission_id)["status"] in ENDED
            for line in reading.raw() if as_json else reading.lines():
                click.echo(line)
            if ended:
                break
            time.sleep(0.5)
        if not as_json:
            for line in missing_lines(client.submission(submission_id)):
                click.echo(line)


class LogReading:
    """The log of a submission, read on from where it was read to; of lines that hold a text, where it is given."""

    def __init__(self, client: Client, submission_id: str, holding: str = "") -> None:
        self._client, self._id, self._holding = client, submission_id, holding
        self._after = 0
        self._attempt: tuple[str, int] | None = None

    def raw(self) -> Iterator[str]:
        """What came since, one JSON object a line."""
        return (json.dumps(line) for line in self._read())

    def lines(self) -> Iterator[str]:
        """What came since, with the time of each line, and a line between attempts."""
        for line in self._read():
            attempt = line["run_id"], line["epoch"]
            if self._attempt not in (None, attempt):
                yield "---- another attempt or run ----"
            self._attempt = attempt
            yield f"{line['at'][11:19]} {line['stream']:>8} | {line['text']}"

    def _read(self) -> Iterator[dict[str, Any]]:
        while lines := self._client.log(self._id, self._after, holding=self._holding):
            self._after = lines[-1]["id"]
            yield from lines


def missing_lines(state: dict[str, Any]) -> Iterator[str]:
    """How many lines came that the platform does not keep."""
    missing = sum(run["log_lines_missing"] for run in state["runs"])
    if missing:
        lines = f"{missing:,} line{'' if missing == 1 else 's'}"
        yield f"---- Left out: {lines}. The platform keeps the beginning and the end of a long log. ----"

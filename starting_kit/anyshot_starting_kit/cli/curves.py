"""`anyshot curves`: how a submission trains and what it uses of the machine, over time."""

import csv
import sys
import time
from typing import Any

import click

from anyshot_core.client import ENDED, Client
from anyshot_starting_kit.cli.account import connection_options, outlasting, which_submission

COLUMNS = (
    *("run_id", "epoch", "series", "stage", "seconds", "width", "step", "rows", "loss", "accuracy"),
    *("normalized_accuracy", "cpu_cores", "memory_bytes", "gpu_share", "gpu_memory_bytes"),
)


@click.command()
@click.argument("submission", required=False)
@click.option("--follow", is_flag=True, help="Keep printing until the submission has ended.")
@click.option("--csv", "as_csv", is_flag=True, help="Print a CSV table of all figures.")
@connection_options
def curves(client: Client, submission: str | None, follow: bool, as_csv: bool) -> None:
    """Print loss, accuracy, processor, memory of SUBMISSION over time (its number or id; without it your latest)."""
    submission_id = which_submission(client, submission)
    table = csv.DictWriter(sys.stdout, COLUMNS, extrasaction="ignore", lineterminator="\n")
    if as_csv:
        table.writeheader()
    after = 0
    while True:
        with outlasting(client, follow=follow):
            ended = not follow or client.submission(submission_id)["status"] in ENDED
            found = client.measures(submission_id, after)
        for one in found:
            if as_csv:
                table.writerow(one)
            else:
                click.echo(_line(one))
        after = max((one["id"] for one in found), default=after)
        if ended:
            break
        time.sleep(2)
    if not after and not as_csv:
        click.echo(
            "There are no curves: nothing has been measured yet, or the phase shows no output of code.",
            err=True,
        )


def _line(one: dict[str, Any]) -> str:
    figures = (
        ("loss", one["loss"], "{:.4g}"),
        ("normalized accuracy", one["normalized_accuracy"], "{:.3f}"),
        ("accuracy", one["accuracy"], "{:.3f}"),
        ("cores", one["cpu_cores"], "{:.2f}"),
        ("memory", one["memory_bytes"] and one["memory_bytes"] / 2**30, "{:.2f} GiB"),
        ("GPU", one["gpu_share"] is not None and 100 * one["gpu_share"], "{:.0f} %"),
    )
    said = ", ".join(
        f"{name} {form.format(value)}"
        for name, value, form in figures
        if value is not None and value is not False
    )
    step = f" {one['step']}" if one["rows"] else ""
    return f"{one['seconds']:>8.0f} s  {one['series'] + step:<16} {said}"

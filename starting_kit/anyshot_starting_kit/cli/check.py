"""`anyshot check`."""

import json
import sys
from pathlib import Path

import click

from anyshot_core.bundle import BundleReport, CheckOutcome, RunConditions, check_bundle
from anyshot_starting_kit.cli.exits import Exit

_SIGNS = {CheckOutcome.OK: "ok", CheckOutcome.WARNING: "warning", CheckOutcome.FAILED: "FAILED"}


@click.command()
@click.argument("submission", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--train-datasets", type=click.IntRange(1), help="Datasets that a run trains on [not compared]."
)
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def check(submission: Path, train_datasets: int | None, as_json: bool) -> None:
    """Check SUBMISSION, a folder or a zip, as the platform does at upload, without running it.

    The platform also compares validation_datasets with the datasets that a run of the phase trains on: one where the
    phase goes dataset by dataset. Name their number with --train-datasets.

    Exits with 0 when it may be submitted, with 1 when it would be refused.
    """
    report = check_bundle(submission, conditions=RunConditions(train_datasets))
    click.echo(json.dumps(report.to_dict(), indent=1) if as_json else describe(report))
    sys.exit(Exit.OK if report.ok else Exit.FAILED)


def describe(report: BundleReport) -> str:
    """The checks as text, one a line, with what to do below those that failed."""
    lines = []
    for item in report.checks:
        found = f": {item.found}" if item.found else ""
        lines.append(f"{_SIGNS[item.outcome]:>8}  {item.title}{found}")
        if item.outcome is not CheckOutcome.OK and item.remedy:
            lines.append(f"{'':>8}  -> {item.remedy}")
    return "\n".join(lines)

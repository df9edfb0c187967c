"""`anyshot score`: score prediction files, or summarize result files, on this machine."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from anyshot_core.report import report_html, report_text
from anyshot_core.results import (
    BadResultsFile,
    read_kind,
    read_predictions,
    read_results,
    write_results,
)
from anyshot_core.words import decimal_words
from anyshot_scoring.errors import ScoringError
from anyshot_scoring.rules import RULES, Rule, find_rule
from anyshot_scoring.summary import RunSummary, summarize
from anyshot_scoring.table import METRICS, TaskTable

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_TARGET = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class ScoredRun:
    """The figures of one results file."""

    path: Path
    table: TaskTable
    meta: dict[str, Any]
    summary: RunSummary


@click.command()
@click.argument("files", metavar="PREDICTIONS...", nargs=-1, required=True, type=_FILE)
@click.option("--tasks", type=click.IntRange(min=1), help="Tasks that each run must hold: 0 to TASKS - 1.")
@click.option(
    "--metric", type=click.Choice(METRICS), default=METRICS[0], show_default=True, help="The score."
)
@click.option(
    "--rule",
    "rule_name",
    type=click.Choice(list(RULES)),
    default="worst_run",
    show_default=True,
    help="The ranking rule that makes one score of several runs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summaries as JSON.")
@click.option("--html", type=_TARGET, help="Write the report of a single run as an HTML page.")
@click.option("--results", type=_TARGET, help="Write the per-task results of a single run as Parquet.")
def score(
    files: tuple[Path, ...],
    tasks: int | None,
    metric: str,
    rule_name: str,
    as_json: bool,
    html: Path | None,
    results: Path | None,
) -> None:
    """Score PREDICTIONS, one `predictions.parquet` (or `results.parquet`) for each run of a submission.

    A run that lacks tasks has no score. How many there must be is taken from --tasks, else from the file's own
    description of the run, else from its highest task index.
    """
    if len(files) > 1 and (html or results):
        raise click.UsageError("--html and --results take a single run.")
    runs = [score_file(path, tasks, metric) for path in files]
    rule = find_rule(rule_name)
    result = rule.result([run.summary.as_run() for run in runs])
    if as_json:
        click.echo(json.dumps(_as_data(runs, rule, result.score), indent=1, allow_nan=False))
    else:
        _print_runs(runs, rule, result.score)
    if html:
        html.write_text(report_html(runs[0].summary, runs[0].table, _heading(runs[0])), encoding="utf-8")
    if results:
        write_results(results, runs[0].table, runs[0].meta)


def score_file(path: Path, tasks: int | None, metric: str = METRICS[0]) -> ScoredRun:
    """Score one file. Raises `click.ClickException` with the reason if that is not possible."""
    try:
        table, meta = _read(path)
        summary = summarize(table, _expected(table, meta) if tasks is None else tasks, metric)
    except (BadResultsFile, ScoringError) as error:
        raise click.ClickException(f"{path}: {error}") from error
    return ScoredRun(path, table, meta, summary)


def _read(path: Path) -> tuple[TaskTable, dict[str, Any]]:
    if read_kind(path) == "results":
        return read_results(path)
    predictions, meta = read_predictions(path)
    return predictions.score(), meta


def _expected(table: TaskTable, meta: dict[str, Any]) -> int:
    declared = meta.get("tasks")
    return declared if isinstance(declared, int) else int(table.task.max(initial=-1)) + 1


def _heading(run: ScoredRun) -> dict[str, Any]:
    return {"title": run.path.name, **run.meta}


def _as_data(runs: list[ScoredRun], rule: Rule, total: float) -> dict[str, Any]:
    return {
        "rule": rule.name,
        "score": total,
        "runs": [{"file": str(run.path), "meta": run.meta, "summary": run.summary.to_dict()} for run in runs],
    }


def _print_runs(runs: list[ScoredRun], rule: Rule, total: float) -> None:
    for run in runs:
        click.echo(report_text(run.summary, run.table, _heading(run)))
    if len(runs) > 1:
        click.echo(f"Score by the rule “{rule.title}” over {len(runs)} runs: {decimal_words(total, 4)}")

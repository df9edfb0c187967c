"""The files of a dry run: by their names, those of an earlier one are removed from the folder."""

import re
from collections.abc import Iterator
from pathlib import Path

from anyshot_core.exports import FILES as EXPORTS
from anyshot_core.results import BadResultsFile, Maker, read_kind, read_predictions, read_results
from anyshot_core.wire.logger_tables import TABLES

RESULTS, PREDICTIONS, EVALUATIONS = "results.parquet", "predictions.parquet", "evaluations.json"
REPORT, REPORT_TEXT, TASKS = "report.html", "report.txt", "tasks.html"
LEARNER, SNAPSHOTS = "learner.bin", "snapshots"

_NAMES = (RESULTS, PREDICTIONS, EVALUATIONS, REPORT, REPORT_TEXT, TASKS, *EXPORTS, *TABLES.values())
_TABLE_OF_A_PART = re.compile(r"meta_(train|validation)-dataset-\d+\.csv")
_SNAPSHOT = re.compile(r"snapshot-\d+\.bin")


def further_name(name: str, evaluation: str) -> str:
    """The name of the file that holds the same of a further evaluation."""
    stem, dot, ending = name.partition(".")
    return f"{stem}-{evaluation}{dot}{ending}"


def remove_earlier(output: Path, learner: Path | None) -> None:
    """Remove from `output` what an earlier dry run wrote there, and nothing else.

    A run that tests a `learner` trains none: that file, and all that an earlier training kept, stay.
    """
    if not output.is_dir():
        return
    found = list(_results(output))
    if learner is None:
        found += _trained(output)
    for path in found:
        path.unlink()


def _results(output: Path) -> Iterator[Path]:
    yield from (path for path in (output / name for name in _NAMES) if path.is_file())
    yield from (path for path in output.glob("meta_*.csv") if _TABLE_OF_A_PART.fullmatch(path.name))
    for name in (RESULTS, PREDICTIONS):
        yield from (path for path in output.glob(further_name(name, "*")) if _is_of_a_dry_run(path))


def _trained(output: Path) -> Iterator[Path]:
    if (learner := output / LEARNER).is_file():
        yield learner
    snapshots = (output / SNAPSHOTS).glob("*.bin")
    yield from (path for path in snapshots if _SNAPSHOT.fullmatch(path.name))


def _is_of_a_dry_run(path: Path) -> bool:
    """Whether a file of free name says so: people name files of their own the same way."""
    try:
        read = read_results if read_kind(path) == "results" else read_predictions
        return read(path).identity.maker is Maker.DRY_RUN
    except (BadResultsFile, FileNotFoundError):
        return False

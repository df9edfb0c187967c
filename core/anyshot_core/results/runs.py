"""Runs of submissions, as found in whatever results files the product gives out."""

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from anyshot_core.results.formats import BadResultsFile, read_kind
from anyshot_core.results.identity import Identity
from anyshot_core.results.tasks import ResultsFile, read_results
from anyshot_scoring.errors import BadTable
from anyshot_scoring.table import COLUMNS, INTEGERS, STRINGS, TaskTable

SUFFIXES = (".parquet", ".csv", ".zip")
_OF_ARCHIVES = {"team", "submission", "run", "seed_index"}  # columns


@dataclass(frozen=True)
class FoundRun:
    """One run; `sources` are the files that it was read from, `positions` their places among the files given."""

    identity: Identity
    table: TaskTable
    sources: tuple[str, ...]
    positions: tuple[int, ...]


def find_runs(paths: Sequence[Path]) -> dict[str, list[FoundRun]]:
    """The runs of each submission by the name to show, each once and whole, in the order in which they were given.

    Takes what runs leave (`results.parquet`), what a site gives out of a submission (tasks.csv, everything.zip) and of
    a competition (the archive's `results.parquet`). The parts of a run are put together.

    Raises:
        BadResultsFile: a file cannot be read, or two say that they are the same run and differ.
    """
    found = [run for position, path in enumerate(paths) for run in _read(Path(path), position)]
    groups: dict[tuple[str, str, str], list[FoundRun]] = {}
    for run in found:
        groups.setdefault(run.identity.submission_key, []).append(run)
    return {_name(key, groups): _whole_runs(runs) for key, runs in groups.items()}


def _name(key: tuple[str, str, str], groups: Iterable[tuple[str, str, str]]) -> str:
    """The name of a submission; those of one name are told apart by their id on the site, or their code's digest."""
    who, submission, code = key
    alike = [other for other in groups if other[0] == who]
    if len(alike) == 1:
        return who
    own = (submission or code)[:8]
    return f"{who} ({own})" if own else who


def _whole_runs(runs: Sequence[FoundRun]) -> list[FoundRun]:
    by_key: dict[str, list[FoundRun]] = {}
    for number, run in enumerate(runs):
        by_key.setdefault(run.identity.run_key or f"#{number}", []).append(run)
    whole = [_join(parts) for parts in by_key.values()]
    return sorted(whole, key=lambda run: _natural(run.identity.run_key))


def _natural(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (1 << 62, text)


def _join(parts: Sequence[FoundRun]) -> FoundRun:
    """Files of one run as one: parts one below the other; one whose rows another has already adds nothing."""
    joined, *others = sorted(parts, key=lambda part: -len(part.table))
    for part in others:
        joined = replace(
            joined,
            table=_join_tables(joined, part),
            sources=(*joined.sources, *part.sources),
            positions=(*joined.positions, *part.positions),
        )
    return joined


def _join_tables(first: FoundRun, second: FoundRun) -> TaskTable:
    one, two = first.table, second.table
    places = {pair: row for row, pair in enumerate(_tasks(one))}
    rows = [places[pair] for pair in _tasks(two) if pair in places]
    if not rows:
        whole = TaskTable.concatenate([one, two])
        return (
            whole if len(np.unique(whole.task)) == len(whole) else replace(whole, task=np.arange(len(whole)))
        )
    known = one.normalized_accuracy[rows]
    if np.array_equal(known, two.normalized_accuracy, equal_nan=True):
        return one
    run = first.identity.run_key
    raise BadResultsFile(
        f"{first.sources[0]} and {second.sources[0]} both say that they are run {run} of {first.identity.who}, and "
        "differ. Leave one out; or put them into folders of their own names if they are of different submissions."
    )


def _tasks(table: TaskTable) -> list[tuple[str, int]]:
    return list(zip(table.dataset.tolist(), table.task.tolist(), strict=True))


def _read(path: Path, position: int) -> Iterator[FoundRun]:
    for identity, table in _open(path):
        yield FoundRun(identity.named_by(path), table, (str(path),), (position,))


def _open(path: Path) -> Iterator[tuple[Identity, TaskTable]]:
    if path.suffix == ".zip":
        yield from _open_zip(path)
    elif path.suffix == ".csv":
        yield from _open_csv(path.read_text(encoding="utf-8"), path.name)
    elif is_archive(path):
        yield from _open_archive(path)
    else:
        found = _read_results(path, str(path))
        yield found.identity, found.table


def _read_results(source: Path | io.BytesIO, name: str) -> ResultsFile:
    """The results of a run; what is wrong with them begins with the file's name."""
    try:
        return read_results(source)
    except BadResultsFile as error:
        raise BadResultsFile(f"{name}: {error}") from error


def _open_zip(path: Path) -> Iterator[tuple[Identity, TaskTable]]:
    """A submission's everything.zip: the results of its runs where the reader may have them, else tasks.csv."""
    try:
        with zipfile.ZipFile(path) as archive:
            about = _about(archive)
            names = archive.namelist()
            results = [
                name for name in names if name.startswith("runs/") and name.endswith("/results.parquet")
            ]
            for name in results:
                found = _read_results(io.BytesIO(archive.read(name)), f"{path}, {name}")
                identity = found.identity
                number = "" if identity.run_key else name.split("/")[1]
                yield identity.model_copy(update=about | {"run": identity.run or number}), found.table
            if not results and "tasks.csv" in names:
                for identity, table in _open_csv(archive.read("tasks.csv").decode(), path.name):
                    yield identity.model_copy(update=about), table
            elif not results:
                raise BadResultsFile(
                    f"{path}: holds no results. Was the run scored, and may you see its scores?"
                )
    except zipfile.BadZipFile as error:
        raise BadResultsFile(f"{path}: {error}") from error


def _about(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Name and id of the submission that a site's zip is of."""
    if "submission.json" not in archive.namelist():
        return {}
    try:
        data = json.loads(archive.read("submission.json"))
    except ValueError as error:
        raise BadResultsFile(f"submission.json is not JSON: {error}") from error
    who = f"{data['team']} #{data['number']}" if "team" in data and "number" in data else ""
    return {"who": who, "submission": str(data.get("id", ""))}


def _open_csv(text: str, name: str) -> Iterator[tuple[Identity, TaskTable]]:
    """A site's tasks.csv: one line a run and task."""
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows or "run" not in rows[0]:
        raise BadResultsFile(f"{name}: no table of tasks with a column `run`, as a site gives it out.")
    for run in dict.fromkeys(row["run"] for row in rows):
        own = [row for row in rows if row["run"] == run]
        yield (
            Identity(run=run, same_test_tasks=own[0].get("same_test_tasks") == "true"),
            _table({key: _numbers(key, [row.get(key) for row in own], name) for key in COLUMNS}, name),
        )


def _numbers(column: str, cells: Sequence[str | None], name: str) -> list[Any]:
    """The cells of a column of a CSV file in their types."""
    kind = str if column in STRINGS else int if column in INTEGERS else float
    try:
        return [kind(cell) for cell in cells]  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError) as error:
        raise BadResultsFile(f"{name}: column {column}: {error}") from error


def is_archive(path: Path) -> bool:
    """Whether a Parquet file is that of a competition's archive. Raises `BadResultsFile` or `FileNotFoundError`."""
    try:
        return not read_kind(path) and set(pq.read_schema(path).names) >= _OF_ARCHIVES
    except BadResultsFile as error:
        raise BadResultsFile(f"{path}: {error}") from error


def _open_archive(path: Path) -> Iterator[tuple[Identity, TaskTable]]:
    """A competition's archive: the runs of all submissions; of each the newest version and generation."""
    with pq.ParquetFile(path) as file:
        whole = file.read()
    columns = {name: whole[name].to_numpy() for name in whole.column_names}
    for submission in dict.fromkeys(columns["submission"].tolist()):
        rows = np.flatnonzero(columns["submission"] == submission)
        for newest in ("version", "generation"):
            rows = rows[columns[newest][rows] == columns[newest][rows].max()]
        for run in dict.fromkeys(columns["run"][rows].tolist()):
            own = rows[columns["run"][rows] == run]
            yield _of_archive({name: values[own] for name, values in columns.items()}, path.name)


def _of_archive(columns: Mapping[str, NDArray[Any]], name: str) -> tuple[Identity, TaskTable]:
    def first(column: str) -> str:
        return str(columns[column][0])

    identity = Identity(
        who=first("team"),
        submission=first("submission"),
        run=str(int(columns["seed_index"][0]) + 1),
        run_id=first("run"),
        phase=first("phase"),
        same_test_tasks=bool(columns.get("same_test_tasks", [False])[0]),
    )
    return identity, _table(columns, name)


def _table(columns: Mapping[str, Any], name: str) -> TaskTable:
    try:
        return TaskTable.from_columns(columns)
    except (BadTable, ValueError) as error:
        raise BadResultsFile(f"{name}: {error}") from error

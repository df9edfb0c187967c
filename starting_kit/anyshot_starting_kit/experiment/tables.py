"""The tables of an experiment, as CSV, JSON and Parquet: one row a baseline and dataset, number of ways or shots."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from anyshot_scoring.summary import Group, group_means
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.experiment.carry_out import Done

BY = ("dataset", "domain", "ways", "shots")


@dataclass(frozen=True, slots=True)
class Row:
    """Mean normalized accuracy of a baseline over the pooled tasks of all seeds; `by` "all" has the key "all"."""

    baseline: str
    by: str
    key: str
    mean: float
    half_width: float | None
    tasks: int


def pooled(done: Iterable[Done]) -> dict[str, TaskTable]:
    """The tasks of all seeds of each baseline that finished, best baseline first."""
    tables: dict[str, list[TaskTable]] = {}
    for run in done:
        if run.table is not None:
            tables.setdefault(run.name, []).append(run.table)
    joined = {name: TaskTable.concatenate(parts) for name, parts in tables.items()}
    return dict(sorted(joined.items(), key=lambda item: -float(item[1].normalized_accuracy.mean())))


def group(table: TaskTable, by: str) -> tuple[Group, ...]:
    """Means by a column of the table, or over all tasks."""
    keys = getattr(table, by) if by != "all" else table.dataset.astype("<U3").copy()
    if by == "all":
        keys[:] = "all"
    return group_means(table.normalized_accuracy, keys)


def make_rows(tables: dict[str, TaskTable]) -> list[Row]:
    """All rows of all tables."""
    return [
        Row(name, by, str(part.key), part.mean, part.half_width, part.tasks)
        for name, table in tables.items()
        for by in ("all", *BY)
        for part in group(table, by)
    ]


def write_tables(rows: Sequence[Row], folder: Path) -> None:
    """`scores.csv`, `scores.json`, `scores.parquet`."""
    folder.mkdir(parents=True, exist_ok=True)
    data = [asdict(row) for row in rows]
    columns = list(Row.__dataclass_fields__)
    with (folder / "scores.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(data)
    (folder / "scores.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    texts, numbers = ("baseline", "by", "key"), ("mean", "half_width")
    fields = [*((name, pa.string()) for name in texts), *((name, pa.float64()) for name in numbers)]
    schema = pa.schema([*fields, ("tasks", pa.int64())])
    pq.write_table(pa.Table.from_pylist(data, schema=schema), folder / "scores.parquet")

"""The tables of an experiment, as CSV, JSON and Parquet: one row a baseline and dataset, number of ways or shots."""

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from anyshot_scoring.summary import Group, group_means
from anyshot_scoring.table import TaskTable
from anyshot_studies.experiment.carry_out import Done

BY = ("dataset", "domain", "ways", "shots")


@dataclass(frozen=True, slots=True)
class Row:
    """Mean normalized accuracy of a baseline over the pooled tasks of its `seeds` that did not fail; `by` "all" has the
    key "all".
    """

    baseline: str
    by: str
    key: str
    mean: float
    half_width: float | None
    tasks: int
    seeds: int


@dataclass(frozen=True, slots=True)
class BaselineTasks:
    """A baseline's tasks of the seeds on which it finished, `seeds` of `of`."""

    name: str
    table: TaskTable
    seeds: int
    of: int

    @property
    def label(self) -> str:
        """The name, marked where its mean is over other tasks than that of the others."""
        return self.name if self.seeds == self.of else f"{self.name} ({self.seeds} of {self.of} seeds)"


def pooled(done: Sequence[Done]) -> list[BaselineTasks]:
    """Each baseline that finished on a seed; the best first, those that failed on a seed after all others."""
    tables: dict[str, list[TaskTable]] = {}
    for run in done:
        if run.table is not None:
            tables.setdefault(run.name, []).append(run.table)
    of = len({run.seed for run in done})
    entries = [
        BaselineTasks(name, TaskTable.concatenate(parts), len(parts), of) for name, parts in tables.items()
    ]
    return sorted(entries, key=lambda entry: (-entry.seeds, -float(entry.table.normalized_accuracy.mean())))


def group(table: TaskTable, by: str) -> tuple[Group, ...]:
    """Means by a column of the table, or over all tasks."""
    keys = getattr(table, by) if by != "all" else table.dataset.astype("<U3").copy()
    if by == "all":
        keys[:] = "all"
    return group_means(table.normalized_accuracy, keys)


def make_rows(entries: Sequence[BaselineTasks]) -> list[Row]:
    """All rows of all tables."""
    return [
        Row(entry.name, by, str(part.key), part.mean, part.half_width, part.tasks, entry.seeds)
        for entry in entries
        for by in ("all", *BY)
        for part in group(entry.table, by)
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
    schema = pa.schema([*fields, ("tasks", pa.int64()), ("seeds", pa.int64())])
    pq.write_table(pa.Table.from_pylist(data, schema=schema), folder / "scores.parquet")

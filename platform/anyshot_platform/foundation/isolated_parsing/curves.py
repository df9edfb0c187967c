"""Curves of meta-training, from the tables that a worker sent of a submission's logger. Runs in a confined process."""

import csv
import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from anyshot_scoring.summary import Group, group_means

LARGEST_TABLE = 16 << 20  # bytes that are read of a table
MOST_COLUMNS = 32  # four times what our loggers write
POINTS = 40
METRICS = ("normalized_accuracy", "accuracy")
# By file: the column that orders its rows.
TABLES = {"meta_train.csv": "iteration", "meta_validation.csv": "step"}


def read_curves(path: Path) -> dict[str, Any]:
    """Of each table that can be read: groups of neighbouring rows, and what was averaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return dict(_curves(archive))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, csv.Error):
        return {}  # damaged, encrypted, packed in a way that we do not read, or a cell without end


def _curves(archive: zipfile.ZipFile) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, order in TABLES.items():
        if name in archive.namelist():
            with archive.open(name) as table:
                text = table.read(LARGEST_TABLE).decode("utf-8", "replace").replace("\x00", "")
            groups, metric = summarize_rows(io.StringIO(text), order)
            yield name, {"groups": [asdict(group) for group in groups], "metric": metric}


def summarize_rows(table: TextIO, order: str) -> tuple[Sequence[Group], str]:
    """At most `POINTS` groups of neighbouring rows, keyed by their last one, and what was averaged."""
    columns = table.readline(1000).strip().split(",")
    if order not in columns or len(columns) > MOST_COLUMNS:
        return (), ""
    known = {metric: columns.index(metric) for metric in METRICS if metric in columns}
    places = [columns.index(order), *known.values()]
    rows = [[_number(row, place) for place in places] for row in csv.reader(table)]
    for number, metric in enumerate(known, 1):
        pairs = [(row[0], row[number]) for row in rows]
        pairs = [(place, value) for place, value in pairs if math.isfinite(place) and math.isfinite(value)]
        if pairs:
            keys = np.array([int(place) for place, _ in pairs])
            width = max(1, math.ceil((int(keys.max()) - int(keys.min()) + 1) / POINTS))
            binned = (keys - keys.min()) // width * width + keys.min() + width - 1
            return group_means(np.array([value for _, value in pairs]), binned), metric
    return (), ""


def _number(row: Sequence[str], place: int) -> float:
    try:
        value = float(row[place] or "nan")
    except (ValueError, IndexError):
        return math.nan
    return value if abs(value) < 1e12 else math.nan

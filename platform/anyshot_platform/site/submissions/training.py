"""Curves of meta-training, from the tables that the participant's logger wrote."""

from __future__ import annotations

import csv
import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.runs.models import Run
from anyshot_platform.site.shell.chart_data import ChartView, over_numbers
from anyshot_scoring.summary import Group, group_means

LOGGER = "logger.zip"
LARGEST_ZIP = 64 << 20
LARGEST_TABLE = 16 << 20  # bytes that are read of a table; its content came out of the sandbox
POINTS = 40
_AVERAGED = "Each point averages neighbouring rows of your logger's table."
# File, column that orders the rows, title, name of the axis.
_TABLES = (
    ("meta_train.csv", "iteration", "Meta-training", "Iteration"),
    ("meta_validation.csv", "step", "Meta-validation", "Round"),
)


def find_logger(session: Session, run: Run) -> str | None:
    """The digest of a run's logger tables; None where there are none (any more)."""
    return session.scalar(
        select(Artifact.digest)
        .where(
            Artifact.run_id == run.id,
            Artifact.name == LOGGER,
            Artifact.final,
            Artifact.expired_at.is_(None),
        )
        .limit(1)
    )


@lru_cache(maxsize=128)
def training_curves(storage: Storage, digest: str) -> tuple[ChartView, ...]:
    """A chart a table; nothing where the tables cannot be read."""
    try:
        with storage.open(digest) as file:
            content = file.read(LARGEST_ZIP + 1)
        if len(content) > LARGEST_ZIP:
            return ()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return tuple(_curves(archive))
    except (FileNotFoundError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError):
        return ()  # gone, damaged, encrypted, or packed in a way that we do not read


def _curves(archive: zipfile.ZipFile) -> Iterator[ChartView]:
    names = set(archive.namelist())
    for name, order, title, axis in _TABLES:
        if name not in names:
            continue
        with archive.open(name) as table:
            text = table.read(LARGEST_TABLE).decode("utf-8", "replace")
        groups, metric = summarize_rows(text, order)
        if len(groups) > 1:
            drawn = over_numbers(title, axis, groups)
            data = {**drawn.data, "y": {"label": metric, "kind": "score"}}
            yield ChartView(title, data, (axis, metric, "95 %", "Rows"), drawn.rows, _AVERAGED)


def summarize_rows(text: str, order: str) -> tuple[Sequence[Group], str]:
    """At most `POINTS` groups of neighbouring rows, keyed by their last one, and what was averaged."""
    try:
        rows = list(csv.DictReader(io.StringIO(text.replace("\x00", ""))))
    except csv.Error:  # a cell without end
        return (), ""
    for column, words in (("normalized_accuracy", "Normalized accuracy"), ("accuracy", "Accuracy")):
        found = [(_number(row.get(order)), _number(row.get(column))) for row in rows]
        pairs = [(place, value) for place, value in found if math.isfinite(place) and math.isfinite(value)]
        if pairs:
            keys = np.array([int(place) for place, _ in pairs])
            width = max(1, math.ceil((int(keys.max()) - int(keys.min()) + 1) / POINTS))
            binned = (keys - keys.min()) // width * width + keys.min() + width - 1
            return group_means(np.array([value for _, value in pairs]), binned), words
    return (), ""


def _number(text: str | None) -> float:
    try:
        value = float(text or "nan")
    except ValueError:
        return math.nan
    return value if abs(value) < 1e12 else math.nan

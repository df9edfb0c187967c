"""Curves of meta-training, from the tables that the participant's logger wrote."""

from functools import lru_cache
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.isolated_parsing.service import Busy, TooCostly, run_confined
from anyshot_platform.foundation.storage import Storage, as_file
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.site.shell.chart_data import ChartView, over_numbers
from anyshot_scoring.summary import Group

LOGGER = "logger.zip"
LARGEST_ZIP = 64 << 20
_AVERAGED = "Each point averages neighbouring rows of your logger's table."
# By file: title, name of the axis.
_TABLES = {
    "meta_train.csv": ("Meta-training", "Iteration"),
    "meta_validation.csv": ("Meta-validation", "Round"),
}
_METRICS = {"normalized_accuracy": "Normalized accuracy", "accuracy": "Accuracy"}


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


def training_curves(storage: Storage, digest: str) -> tuple[ChartView, ...]:
    """A chart a table; nothing where the tables cannot be read, or not now."""
    try:
        return _read_curves(storage, digest)
    except (Busy, FileNotFoundError):
        return ()


@lru_cache(maxsize=128)
def _read_curves(storage: Storage, digest: str) -> tuple[ChartView, ...]:
    try:
        with as_file(storage, digest) as path:
            if path.stat().st_size > LARGEST_ZIP:
                return ()
            found = run_confined("curves", path=str(path))
    except TooCostly:
        return ()
    return tuple(_draw(name, **table) for name, table in found.items() if len(table["groups"]) > 1)


def _draw(name: str, groups: list[dict[str, Any]], metric: str) -> ChartView:
    (title, axis), words = _TABLES[name], _METRICS[metric]
    drawn = over_numbers(title, axis, [Group(**group) for group in groups])
    data = {**drawn.data, "y": {"label": words, "kind": "score"}}
    return ChartView(title, data, (axis, words, "95 %", "Rows"), drawn.rows, _AVERAGED)

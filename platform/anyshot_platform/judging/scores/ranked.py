"""Scores as the ranking rules see them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from anyshot_scoring.rankings import RankedEntry


class Figures(Protocol):
    """A submission's score, or a row of a board."""

    @property
    def value(self) -> Any: ...
    @property
    def by_dataset(self) -> Any: ...
    @property
    def submitted_at(self) -> Any: ...


def entry_of(key: str, figures: Figures) -> RankedEntry:
    """What a rule ranks, under a key of the caller's choice."""
    submitted: datetime = figures.submitted_at
    by_dataset: Mapping[str, float | None] = figures.by_dataset
    return RankedEntry(key, submitted.timestamp(), figures.value, by_dataset)

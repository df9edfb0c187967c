"""Boards: the places of entries by a rule, the entry that stands for a team, and gates.

This is the only place where ranks are computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from anyshot_scoring.errors import NothingToRank
from anyshot_scoring.rules import Rule, find_rule

Choice = Literal["last", "best"]
_DIGITS = 12  # far above the rounding of a mean, far below one query in a million


@dataclass(frozen=True)
class RankedEntry:
    """A submission with what its rule made of its runs; `submitted` grows with time (e.g. Unix seconds).

    `by_dataset` lacks the datasets that a run failed on, or has None there.
    """

    key: str
    submitted: float
    score: float
    by_dataset: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Rank:
    """An entry's place: rank 1 is the best; `value` is what was ranked by, lowest first."""

    key: str
    rank: int
    value: float


def rank(entries: Sequence[RankedEntry], rule: Rule | str) -> list[Rank]:
    """Rank the entries, best first.

    Of equal values the earlier submission is better; with equal times too, they share the rank.
    """
    values = rank_values(entries, rule)
    keys = [(value, entry.submitted) for value, entry in zip(values, entries, strict=True)]
    order = sorted(range(len(entries)), key=lambda i: (*keys[i], entries[i].key))
    standings: list[Rank] = []
    for place, i in enumerate(order):
        tied = place > 0 and keys[i] == keys[order[place - 1]]
        standings.append(Rank(entries[i].key, standings[-1].rank if tied else place + 1, values[i]))
    return standings


def rank_values(entries: Sequence[RankedEntry], rule: Rule | str) -> list[float]:
    """What each entry is ranked by, lowest first, in the order of the entries."""
    if not entries:
        return []
    names = sorted({name for entry in entries for name in entry.by_dataset})
    found = [[entry.by_dataset.get(name) for entry in entries] for name in names]
    datasets = without_rounding(np.array(found, dtype=np.float64).reshape(len(names), len(entries)))
    scores = without_rounding([entry.score for entry in entries])
    chosen = find_rule(rule) if isinstance(rule, str) else rule
    return without_rounding(chosen.keys(scores, datasets)).tolist()


def value_beside(entry: RankedEntry, ranked: Sequence[RankedEntry], rule: Rule | str) -> float:
    """What an entry out of the ranking would be ranked by, if it were among the ranked ones."""
    return rank_values([*ranked, entry], rule)[-1]


def choose_entry(own: Sequence[RankedEntry], choice: Choice, rule: Rule | str) -> RankedEntry | None:
    """The entry that stands for a team: its last, or the first that the rule ranks among its own."""
    if choice == "last":
        return max(own, key=lambda entry: (entry.submitted, entry.key), default=None)
    if choice != "best":
        raise NothingToRank(f"A board shows the last or the best submission, not {choice!r}.")
    first = rank(own, rule)[0].key if own else None
    return next((entry for entry in own if entry.key == first), None)


def passes_gate(score: float | None, gate: float | None) -> bool:
    """Whether a score lies *above* a gate; the baseline that set the gate does not pass it."""
    return gate is None or (score is not None and bool(without_rounding(score) > without_rounding(gate)))


def without_rounding(values: ArrayLike) -> np.ndarray:
    """The same numbers wherever arithmetic makes the same of them: the mean of tasks depends on their order in the last
    of 16 digits, and neither a tie nor a gate may.
    """
    return np.round(np.asarray(values, dtype=np.float64), _DIGITS)

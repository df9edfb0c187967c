"""Ranking rules: each a small function, listed in `RULES` with the words that the pages show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import stats

from anyshot_scoring.errors import NothingToRank

Combination = Literal["worst", "mean", "median"]
COMBINATIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "worst": lambda scores: float(np.min(scores)),
    "mean": lambda scores: float(np.mean(scores)),
    "median": lambda scores: float(np.median(scores)),
}


@dataclass(frozen=True)
class Run:
    """One seeded run: its mean score, and that on each dataset (None: the run failed there)."""

    score: float
    by_dataset: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A submission that stands on a board; `submitted` grows with time (e.g. Unix seconds)."""

    key: str
    submitted: float
    runs: tuple[Run, ...]
    leagues: frozenset[str] = frozenset()
    gate_score: float | None = None


@dataclass(frozen=True)
class Standing:
    """An entry's place: rank 1 is the best; `value` is what the rule compared."""

    key: str
    rank: int
    value: float


@dataclass(frozen=True)
class Rule:
    """A ranking rule for the pages: `higher` tells whether a higher value is better."""

    name: str
    title: str
    words: str
    higher: bool
    by_dataset: bool
    value: Callable[[Sequence[Entry]], list[float]]

    def __call__(self, entries: Sequence[Entry]) -> list[Standing]:
        """Rank the entries; see `rank`."""
        return rank(entries, self)


def combine_runs(combination: str, scores: Iterable[float]) -> float:
    """Combine the scores of a submission's seeded runs: the "worst", the "mean" or the "median".

    Raises `NothingToRank` for no run, for a score that is not finite, and for an unknown combination.
    """
    values = [float(score) for score in scores]
    if combination not in COMBINATIONS:
        raise NothingToRank(f"There is no combination {combination!r}; there are {', '.join(COMBINATIONS)}.")
    if not values or not np.isfinite(values).all():
        raise NothingToRank(f"Runs without a score cannot be combined: {values}.")
    return COMBINATIONS[combination](values)


def rank(entries: Sequence[Entry], rule: Rule | str) -> list[Standing]:
    """Rank the entries, best first.

    Of equal values the earlier submission is better; with equal times too, they share the rank.
    """
    chosen = rule if isinstance(rule, Rule) else find_rule(rule)
    values = chosen.value(entries)
    sign = -1.0 if chosen.higher else 1.0
    keys = [(sign * value, entry.submitted) for value, entry in zip(values, entries, strict=True)]
    order = sorted(range(len(entries)), key=lambda i: (*keys[i], entries[i].key))
    standings: list[Standing] = []
    for place, i in enumerate(order):
        tied = place > 0 and keys[i] == keys[order[place - 1]]
        standings.append(Standing(entries[i].key, standings[-1].rank if tied else place + 1, values[i]))
    return standings


def rank_league(
    entries: Sequence[Entry], rule: Rule | str, league: str, gate: float | None = None
) -> list[Standing]:
    """Rank the entries of one league that pass its gate; no other league's entries have any influence."""
    members = [entry for entry in entries if league in entry.leagues]
    return rank([entry for entry in members if passes_gate(entry, gate)], rule)


def passes_gate(entry: Entry, gate: float | None) -> bool:
    """Whether the score that the gate looks at lies *above* it (the baseline itself does not pass)."""
    return gate is None or (entry.gate_score is not None and entry.gate_score > gate)


def choose_entries(
    entries: Mapping[str, Collection[Entry]], choice: Literal["last", "best"], rule: Rule | str
) -> list[Entry]:
    """The entry that stands for each participant: their last, or their best (ties: earlier) by the rule."""
    if choice == "last":
        return [max(own, key=lambda e: (e.submitted, e.key)) for own in entries.values() if own]
    if choice != "best":
        raise NothingToRank(f"A board shows the last or the best submission, not {choice!r}.")
    best = []
    for own in entries.values():
        listed = {entry.key: entry for entry in own}
        best += [listed[rank(list(own), rule)[0].key]] if listed else []
    return best


def find_rule(name: str) -> Rule:
    """The rule of this name; raises `NothingToRank` with the names that there are."""
    if name not in RULES:
        raise NothingToRank(f"There is no ranking rule {name!r}; there are {', '.join(RULES)}.")
    return RULES[name]


def _by_runs(combination: str) -> Callable[[Sequence[Entry]], list[float]]:
    def values(entries: Sequence[Entry]) -> list[float]:
        return [combine_runs(combination, (run.score for run in entry.runs)) for entry in entries]

    return values


def _by_dataset_ranks(combination: str) -> Callable[[Sequence[Entry]], list[float]]:
    def values(entries: Sequence[Entry]) -> list[float]:
        return average_dataset_ranks(entries, combination)

    return values


def average_dataset_ranks(entries: Sequence[Entry], combination: str = "worst") -> list[float]:
    """Average over the datasets of each entry's rank there (NeurIPS'21 MetaDL, with the lowest of the runs).

    Ties on a dataset share the average of their ranks. An entry with a run that failed on a dataset (None, or
    no score there) gets the worst rank on it, which is the number of entries.
    """
    datasets = sorted({name for entry in entries for run in entry.runs for name in run.by_dataset})
    if entries and not datasets:
        raise NothingToRank("Ranking by datasets needs the runs' scores on each dataset.")
    ranks = [_ranks_on(entries, name, combination) for name in datasets]
    return np.mean(ranks, axis=0).tolist() if entries else []


def _ranks_on(entries: Sequence[Entry], dataset: str, combination: str) -> np.ndarray:
    scores = np.full(len(entries), -np.inf)
    for i, entry in enumerate(entries):
        parts = [run.by_dataset.get(dataset) for run in entry.runs]
        finite = [part for part in parts if part is not None and np.isfinite(part)]
        if parts and len(finite) == len(parts):
            scores[i] = combine_runs(combination, finite)
    ranks = np.asarray(stats.rankdata(-scores), dtype=np.float64)
    ranks[np.isneginf(scores)] = len(entries)
    return ranks


def _run_rule(name: str, title: str, combination: str, counts: str) -> Rule:
    words = f"The mean score over all tasks of each seeded run; {counts}. {_TIES.format('scores')}"
    return Rule(name, title, words, higher=True, by_dataset=False, value=_by_runs(combination))


def _dataset_rule(name: str, title: str, combination: str, counts: str) -> Rule:
    words = (
        f"On each dataset {counts}, and the submissions are ranked there; a run that fails on a dataset "
        f"gets the worst rank on it. The average of these ranks counts, lower is better. {_TIES.format('averages')}"
    )
    return Rule(name, title, words, higher=False, by_dataset=True, value=_by_dataset_ranks(combination))


_TIES = "Equal {}: the earlier submission is ranked first."
_RULES = (
    _run_rule("worst_run", "Worst run", "worst", "the lowest of the runs counts"),
    _run_rule("mean_run", "Mean of the runs", "mean", "the mean of the runs counts"),
    _run_rule("median_run", "Median of the runs", "median", "the median of the runs counts"),
    _dataset_rule(
        "dataset_ranks_worst", "Ranks by dataset, worst run", "worst", "the lowest of the seeded runs counts"
    ),
    _dataset_rule(
        "dataset_ranks_mean",
        "Ranks by dataset, mean of the runs",
        "mean",
        "the mean of the seeded runs counts",
    ),
)
RULES: dict[str, Rule] = {rule.name: rule for rule in _RULES}

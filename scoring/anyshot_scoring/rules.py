"""Ranking rules. One object decides which runs count, the score shown, what is ranked by, and the words for it.

A rule has two steps. First it makes one `Result` of an entry's seeded runs. Then it gives each entry a key by the
results of all: the lowest key is ranked first. A new rule is a class with these two steps and its words,
listed in `RULES`.

Arrays: R runs, D datasets, S entries; further axes in front (replicates) are carried along. NaN: failed there.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.errors import NothingToRank
from anyshot_scoring.joins import MEAN, MEDIAN, WORST, Join

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SeededRun:
    """A seeded run: its mean over all tasks and on each dataset, with half widths of intervals (None: undefined).

    A dataset that the run failed on is missing, or None.
    """

    score: float
    by_dataset: Mapping[str, float | None] = field(default_factory=dict)
    half_width: float | None = None
    half_widths: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What a rule makes of an entry's runs.

    `by_dataset` joins the runs on each dataset and lacks those that a run failed on. `shown` is the place of the run
    whose charts stand for the entry, `counting` tells of each run whether it is part of the score or the rank.
    """

    score: float
    half_width: float | None
    by_dataset: Mapping[str, float]
    shown: int
    counting: tuple[bool, ...]


@dataclass(frozen=True)
class Rule(ABC):
    """A ranking rule. `join` makes one figure of the seeded runs, here and for every further column of a board."""

    name: str
    title: str
    join: Join
    by_dataset: ClassVar[bool] = False  # score or key need the scores on each dataset
    relative: ClassVar[bool] = False  # an entry's key depends on the other entries
    forgives_datasets: ClassVar[bool] = False  # a run that fails on one dataset counts on the others
    unit: ClassVar[str] = "score"  # of `points`

    def score(self, runs: Floats, datasets: Floats) -> Floats:
        """The score shown, `[..., S]`, of runs `[..., R, S]` and joined datasets `[..., D, S]`; higher is better."""
        return self.join(runs)

    def keys(self, score: Floats, datasets: Floats) -> Floats:
        """What is ranked by, lowest first, `[..., S]`, of scores `[..., S]` and joined datasets `[..., D, S]`."""
        return -score

    def points(self, runs: Floats, datasets: Floats) -> Floats:
        """Minus the keys, `[..., S]`, straight from runs `[..., R, S]` and their datasets `[..., R, D, S]`."""
        joined = self.join_datasets(datasets)
        return -self.keys(self.score(runs, joined), joined)

    def join_datasets(self, datasets: Floats) -> Floats:
        """Join the runs on each dataset: `[..., R, D, S]` to `[..., D, S]`.

        NaN is a failed run where the rule forgives that, and else a run without tasks of the dataset, left out.
        """
        return (self.join if self.forgives_datasets else self.join.known)(datasets, axis=-3)

    def result(self, runs: Sequence[SeededRun]) -> Result:
        """What an entry with these runs has; raises `NothingToRank` for no run and for a run without a score."""
        own = [self._of([run])[0] for run in runs]
        score, by_dataset = self._of(runs)
        shown = min(range(len(runs)), key=lambda place: abs(own[place] - score))
        return Result(
            score,
            self.half_width(runs[shown], by_dataset),
            by_dataset,
            shown,
            self.counting(runs, by_dataset),
        )

    def counting(self, runs: Sequence[SeededRun], by_dataset: Mapping[str, float]) -> tuple[bool, ...]:
        """Of each run, whether the score or the rank is made of it."""
        return self.join.counting([run.score for run in runs])

    def half_width(self, shown: SeededRun, by_dataset: Mapping[str, float]) -> float | None:
        """The half width that is shown beside the score: that of the run that stands for it."""
        return shown.half_width

    def _of(self, runs: Sequence[SeededRun]) -> tuple[float, dict[str, float]]:
        scores = np.array([run.score for run in runs], dtype=np.float64)
        if not runs or not np.isfinite(scores).all():
            raise NothingToRank(f"Runs without a score cannot be ranked: {scores.tolist()}.")
        names = sorted({name for run in runs for name in run.by_dataset})
        table = np.array([values_on(runs, name) for name in names]).reshape(len(names), len(runs))
        joined = self.join_datasets(table.T[:, :, None])
        score = float(self.score(scores[:, None], joined)[0])
        known = zip(names, joined[:, 0].tolist(), strict=True)
        return score, {name: value for name, value in known if not math.isnan(value)}

    @abstractmethod
    def words(self, runs: int | str | None = None) -> str:
        """What counts, for the pages, in sentences; `runs` is how many an entry has, None where open."""

    def score_words(self, runs: int | str) -> str:
        """What the score is beside a mean over tasks, as the end of a line; empty where it is just that."""
        return "" if runs == 1 else f"the {self.join.noun} of {runs} runs"


def values_on(runs: Sequence[SeededRun], dataset: str) -> list[float]:
    """What each run has on a dataset; NaN where it has none."""
    found = (run.by_dataset.get(dataset) for run in runs)
    return [math.nan if value is None else float(value) for value in found]


def _of_runs(join: Join, runs: int | str | None) -> str:
    return f"the {join.noun} of {'the seeded' if runs is None else f'the {runs}'} runs counts"


_TIES = "Equal {}: the earlier submission is ranked first."


@dataclass(frozen=True)
class ByRuns(Rule):
    """Ranks by the joined means of the runs: the lowest of three in NeurIPS'22."""

    def words(self, runs: int | str | None = None) -> str:
        counts = "The score is the mean over all tasks"
        return f"{counts}{'' if runs == 1 else f'; {_of_runs(self.join, runs)}'}. {_TIES.format('scores')}"


@dataclass(frozen=True)
class ByDatasetRanks(Rule):
    """Ranks by the average over the datasets of the rank there (NeurIPS'21 MetaDL, with the lowest of the runs).

    Ties on a dataset share the average of their ranks. An entry with a run that failed on a dataset has the worst
    rank on it, which is the number of entries. The score that is shown is that of `ByRuns`.
    """

    by_dataset: ClassVar[bool] = True
    relative: ClassVar[bool] = True
    forgives_datasets: ClassVar[bool] = True
    unit: ClassVar[str] = "average rank"

    def keys(self, score: Floats, datasets: Floats) -> Floats:
        if not datasets.shape[-2]:  # all failed on all
            return np.full_like(score, datasets.shape[-1])
        failed = np.isnan(datasets)
        from scipy.stats import (
            rankdata,  # half a second and 200 MB, which whoever only reads a rule's name can spare
        )

        ranks = np.asarray(rankdata(np.where(failed, np.inf, -datasets), axis=-1), dtype=np.float64)
        return np.where(failed, datasets.shape[-1], ranks).mean(axis=-2)

    def counting(self, runs: Sequence[SeededRun], by_dataset: Mapping[str, float]) -> tuple[bool, ...]:
        """A run counts where it is part of the score on some dataset."""
        on_each = [self.join.counting(values_on(runs, name)) for name in by_dataset]
        return tuple(any(counts) for counts in zip(*on_each, strict=True)) if on_each else (True,) * len(runs)

    def words(self, runs: int | str | None = None) -> str:
        there = "The" if runs == 1 else f"On each dataset {_of_runs(self.join, runs)}, and the"
        where = " on each dataset" if runs == 1 else " there"
        beside = (
            f"the {self.join.noun} of the runs' means over all tasks"
            if runs != 1
            else "the mean over all tasks"
        )
        return (
            f"{there} submissions are ranked{where}; a run that fails on a dataset gets the worst rank on it. "
            f"The average of these ranks counts, lower is better. The score shown is {beside}. "
            f"{_TIES.format('averages')}"
        )


@dataclass(frozen=True)
class ByWorstDataset(Rule):
    """Ranks by the score on the dataset where it is lowest, after the runs are joined on each dataset."""

    by_dataset: ClassVar[bool] = True

    def score(self, runs: Floats, datasets: Floats) -> Floats:
        if not datasets.shape[-2]:
            raise NothingToRank("The score on the worst dataset needs the scores on each dataset.")
        return datasets.min(axis=-2)

    def counting(self, runs: Sequence[SeededRun], by_dataset: Mapping[str, float]) -> tuple[bool, ...]:
        return self.join.counting(values_on(runs, _worst(by_dataset)))

    def half_width(self, shown: SeededRun, by_dataset: Mapping[str, float]) -> float | None:
        return shown.half_widths.get(_worst(by_dataset))

    def words(self, runs: int | str | None = None) -> str:
        of_runs = "" if runs == 1 else f"On each dataset {_of_runs(self.join, runs)}. "
        score = "The score is the mean over the tasks of the dataset where it is lowest."
        return f"{of_runs}{score} {_TIES.format('scores')}"

    def score_words(self, runs: int | str) -> str:
        of_runs = super().score_words(runs)
        return f"of them those of the worst dataset{f', {of_runs}' if of_runs else ''}"


def _worst(by_dataset: Mapping[str, float]) -> str:
    return min(by_dataset, key=lambda name: by_dataset[name])


_RULES: tuple[Rule, ...] = (
    ByRuns("worst_run", "Worst run", WORST),
    ByRuns("mean_run", "Mean of the runs", MEAN),
    ByRuns("median_run", "Median of the runs", MEDIAN),
    ByDatasetRanks("dataset_ranks_worst", "Ranks by dataset, worst run", WORST),
    ByDatasetRanks("dataset_ranks_mean", "Ranks by dataset, mean of the runs", MEAN),
    ByDatasetRanks("dataset_ranks_median", "Ranks by dataset, median of the runs", MEDIAN),
    ByWorstDataset("worst_dataset", "Worst dataset", MEAN),
)
RULES: dict[str, Rule] = {rule.name: rule for rule in _RULES}


def find_rule(name: str) -> Rule:
    """The rule of this name; raises `NothingToRank` with the names that there are."""
    if name not in RULES:
        raise NothingToRank(f"There is no ranking rule {name!r}; there are {', '.join(RULES)}.")
    return RULES[name]

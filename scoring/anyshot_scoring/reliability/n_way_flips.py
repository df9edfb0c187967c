"""Conclusion flips over sets of classes as Setlur, Li and Smith define them: by the n-way tasks within each set.

For a random set C_N of m of the L classes of each dataset, A(C_N) is the mean over tasks whose classes all lie in C_N:
tasks that the two submissions have answered already. A task of n ways lies in C_N with probability C(m, n) / C(L, n),
and has the inverse as its weight, so that tasks of few ways count no more than on all classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability.flips import DELTA, FEWEST_SUBSETS, TIE, count_flips, count_ties
from anyshot_scoring.undefined import Undefined

MOST_EMPTY = 0.1  # of the sets: with more, those that are left are no random ones
_BLOCK = 200


@dataclass(frozen=True)
class TaskFlips:
    """Flips of the lead `lead` over sets of classes, judged by the tasks within each set.

    Attributes:
        first_leads: whether the lead is the first's, by the tasks that it is judged by: `of` below, not all that there
            are.
        differences: first minus second, the leader first, on each set `[sets]`; sets with an empty dataset are out.
        tasks: median number of tasks within a set, of `of`; tasks of more ways than a set has classes are in neither.
        noise_flip, noise_exaggeration: with as many tasks of any classes instead (results exchanged among tasks of the
            same dataset and ways): what so few tasks do alone.
        empty: share of sets in which a dataset had no task.
    """

    lead: float
    first_leads: bool
    differences: NDArray[np.float64]
    tasks: float
    of: int
    flip: float
    exaggeration: float
    tie: float
    noise_flip: float
    noise_exaggeration: float
    empty: float


def flips_over_tasks(
    differences: ArrayLike,
    classes: list[NDArray[np.int64]],
    dataset: ArrayLike,
    share: float = 0.75,
    *,
    delta: float = DELTA,
    sets: int = FEWEST_SUBSETS,
    seed: int = 0,
) -> TaskFlips | Undefined:
    """Flips over sets of `share` of each dataset's classes.

    `differences` `[T]` are first minus second on each task, `classes` the numbers of its classes in its
    `dataset` `[T]`. Datasets weigh alike. Undefined without a lead, and where over a tenth of the sets leave a dataset
    without a task.
    Raises `ScoringError` for a share outside (0, 1), fewer than 1,000 sets, or columns that do not fit.
    """
    values, names = np.asarray(differences, np.float64), np.asarray(dataset)
    if not (0 < share < 1) or sets < FEWEST_SUBSETS:
        raise ScoringError(
            f"Flips need a share between 0 and 1 and at least {FEWEST_SUBSETS:,} sets of classes."
        )
    if len(values) == 0 or not len(values) == len(names) == len(classes) or not np.isfinite(values).all():
        raise ScoringError("Flips need a finite difference, a dataset and classes for each task.")
    parts = [_Part.of(values[rows], [classes[i] for i in rows], share) for rows in _rows(names)]
    if any(not len(part.values) for part in parts):
        return Undefined("a dataset has no task of so few classes: take a larger share of its classes")
    lead = float(np.mean([part.values.mean() for part in parts]))
    if abs(lead) <= TIE:
        return Undefined("there is no lead that could flip")
    rng, found, noise, inside = np.random.default_rng(seed), [], [], []
    for start in range(0, sets, _BLOCK):
        drawn = [part.draw(rng, min(_BLOCK, sets - start)) for part in parts]
        found.append(np.mean([one[0] for one in drawn], axis=0))
        noise.append(np.mean([one[1] for one in drawn], axis=0))
        inside.append(np.sum([one[2] for one in drawn], axis=0))
    own, noisy = np.concatenate(found), np.concatenate(noise)
    kept = np.isfinite(own)
    if (empty := 1 - float(kept.mean())) > MOST_EMPTY:
        return Undefined(
            f"in {empty:.0%} of the sets a dataset has no task: more tasks or a larger share are needed"
        )
    own, noisy = np.sign(lead) * own[kept], np.sign(lead) * noisy[kept]
    return TaskFlips(
        abs(lead),
        lead > 0,
        own,
        float(np.median(np.concatenate(inside)[kept])),
        sum(len(part.values) for part in parts),
        *count_flips(own, abs(lead), delta),
        count_ties(own),
        *count_flips(noisy, abs(lead), delta),
        empty,
    )


def _rows(names: NDArray[np.str_]) -> list[NDArray[np.int64]]:
    return [np.flatnonzero(names == name) for name in np.unique(names)]


@dataclass(frozen=True)
class _Part:
    """The tasks of a dataset that a set of `size` classes can hold: differences, classes `[T, L]`, weights, ways."""

    values: NDArray[np.float64]
    members: NDArray[np.float32]
    weights: NDArray[np.float64]
    ways: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, values: NDArray[np.float64], classes: list[NDArray[np.int64]], share: float) -> _Part:
        known = np.unique(np.concatenate(classes))
        size = max(1, round(share * len(known)))
        members = np.stack([np.isin(known, own) for own in classes])
        ways = members.sum(axis=1)
        fits = ways <= size
        n = ways[fits]
        weights = np.asarray(special.comb(len(known), n) / special.comb(size, n))
        return cls(values[fits], members[fits].astype(np.float32), weights, n, size)

    def draw(
        self, rng: np.random.Generator, sets: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Means over the tasks within each of `sets` sets, the same with exchanged results, and how many tasks."""
        keys = rng.random((sets, self.members.shape[1]))
        out = np.ones(keys.shape, np.float32)
        np.put_along_axis(out, np.argsort(keys, axis=1)[:, : self.size], 0.0, axis=1)
        inside = (out @ self.members.T) == 0  # [sets, T]: no class of the task is out of the set
        weights = inside * self.weights
        total = weights.sum(axis=1)
        with np.errstate(invalid="ignore"):
            own, noise = (
                weights @ self.values / total,
                (weights * self._exchanged(rng, sets)).sum(axis=1) / total,
            )
        return own, noise, inside.sum(axis=1)

    def _exchanged(self, rng: np.random.Generator, sets: int) -> NDArray[np.float64]:
        """The differences `[sets, T]`, in another random order among tasks of the same ways for each set."""
        found = np.empty((sets, len(self.values)))
        for ways in np.unique(self.ways):
            rows = np.flatnonzero(self.ways == ways)
            order = np.argsort(rng.random((sets, len(rows))), axis=1)
            found[:, rows] = self.values[rows][order]
        return found

"""Ways to set support images aside: hold-out, k-fold, leave-one-out, bootstrap.

A plan is two arrays over the support images of one task: how often each image counts in training, and which
images are tested, `[rounds, n]` each.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_analysis.undefined import Undefined
from anyshot_core.episodes.folds import FOLDS, places_in_class

ROUNDS = 20
REDRAWS = 10_000


@dataclass(frozen=True)
class SplitPlan:
    """`weights` `[rounds, n]` for training, `tested` bool `[rounds, n]`.

    `pooled` counts images, not rounds, equally.
    """

    weights: NDArray[np.float64]
    tested: NDArray[np.bool_]
    pooled: bool = True

    def estimate(self, right: NDArray[np.bool_]) -> float:
        """Accuracy from `right` `[rounds, n]`: over all tested images, or the mean of the rounds' accuracies."""
        hits = (right & self.tested).sum(axis=1)
        counts = self.tested.sum(axis=1)
        return float(hits.sum() / counts.sum()) if self.pooled else float((hits / counts).mean())


def refuse(labels: ArrayLike) -> Undefined | None:
    """Why nothing can be set aside: a class with a single image loses its only example."""
    counts = np.bincount(np.asarray(labels, dtype=np.int64))
    if len(counts) < 2:
        return Undefined("not estimable: a single class")
    if counts.min() < 2:
        return Undefined("not estimable: a class has a single support image")
    return None


def k_fold(labels: ArrayLike, folds: int | None = None) -> SplitPlan | Undefined:
    """Class-interleaved folds: image j of every class is in fold j mod k; k = min(5, smallest class) by default."""
    if (reason := refuse(labels)) is not None:
        return reason
    places, smallest = places_in_class(labels)
    k = min(FOLDS, smallest) if folds is None else folds
    if not 2 <= k <= smallest:
        return Undefined(f"not estimable: {k} folds of a smallest class of {smallest}")
    tested = places[None, :] % k == np.arange(k)[:, None]
    return SplitPlan((~tested).astype(np.float64), tested)


def hold_out(labels: ArrayLike, folds: int | None = None) -> SplitPlan | Undefined:
    """The first fold only."""
    plan = k_fold(labels, folds)
    return plan if isinstance(plan, Undefined) else SplitPlan(plan.weights[:1], plan.tested[:1])


def leave_one_out(labels: ArrayLike) -> SplitPlan | Undefined:
    """Leave each image of a support set out once."""
    if (reason := refuse(labels)) is not None:
        return reason
    tested = np.eye(len(np.asarray(labels)), dtype=bool)
    return SplitPlan((~tested).astype(np.float64), tested)


def bootstrap(labels: ArrayLike, seed: int, rounds: int = ROUNDS) -> SplitPlan | Undefined:
    """The support resampled with replacement, redrawn until every class is there and something is left out.

    Tests what was not drawn; the estimate is the mean of the rounds' accuracies. `seed` is the task's own, so that
    no two tasks share a resampling.
    """
    if (reason := refuse(labels)) is not None:
        return reason
    y = np.asarray(labels, dtype=np.int64)
    rng, classes = np.random.default_rng(seed), int(y.max()) + 1
    weights = np.empty((rounds, len(y)))
    for number in range(rounds):
        for _ in range(REDRAWS):
            counts = np.bincount(rng.integers(len(y), size=len(y)), minlength=len(y))
            if len(np.unique(y[counts > 0])) == classes and (counts == 0).any():
                break
        else:
            return Undefined(f"not estimable: no resampling of {len(y)} images keeps all {classes} classes")
        weights[number] = counts
    return SplitPlan(weights, weights == 0, pooled=False)


EVALUATORS = ("hold-out", "k-fold", "leave-one-out", "bootstrap")


def plan_for(
    evaluator: str, labels: ArrayLike, seed: int = 0, folds: int | None = None
) -> SplitPlan | Undefined:
    """The plan of a named evaluator for one support set."""
    if evaluator == "hold-out":
        return hold_out(labels, folds)
    if evaluator == "k-fold":
        return k_fold(labels, folds)
    if evaluator == "leave-one-out":
        return leave_one_out(labels)
    if evaluator == "bootstrap":
        return bootstrap(labels, seed)
    raise ValueError(f"unknown evaluator {evaluator!r}; there are {', '.join(EVALUATORS)}")

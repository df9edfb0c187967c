"""How good an evaluator is, against the accuracy on the query set (the oracle)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from anyshot_analysis.undefined import Quantity, Undefined, as_json, defined_only

FAR = 0.10


@dataclass(frozen=True)
class EvaluatorError:
    """Errors of estimates over tasks, all in accuracy (0.01 is a point).

    `bias` is mean(estimate - oracle), `variance` the errors' variance (ddof 1), `beyond` the share of errors over 10
    points. `not_estimable` tasks are counted, never filled in.
    """

    tasks: int
    not_estimable: int
    bias: Quantity
    variance: Quantity
    mean_absolute: Quantity
    beyond: Quantity

    def to_dict(self) -> dict[str, Any]:
        return {
            "tasks": self.tasks,
            "not_estimable": self.not_estimable,
            "bias": as_json(self.bias),
            "variance": as_json(self.variance),
            "mean_absolute": as_json(self.mean_absolute),
            "beyond_ten_points": as_json(self.beyond),
        }


def evaluator_error(estimates: Sequence[Quantity], truth: ArrayLike) -> EvaluatorError:
    """Errors of one evaluator for one model over tasks."""
    true = np.asarray(truth, dtype=np.float64)
    pairs = [(e, t) for e, t in zip(estimates, true, strict=True) if not isinstance(e, Undefined)]
    missing = len(true) - len(pairs)
    if not pairs:
        nothing = Undefined("no task was estimable")
        return EvaluatorError(0, missing, nothing, nothing, nothing, nothing)
    gaps = np.array([float(e) - t for e, t in pairs])
    variance = float(gaps.var(ddof=1)) if len(gaps) > 1 else Undefined("a single task has no variance")
    beyond = float((np.abs(gaps) > FAR + 1e-12).mean())
    return EvaluatorError(
        len(gaps), missing, float(gaps.mean()), variance, float(np.abs(gaps).mean()), beyond
    )


@dataclass(frozen=True)
class RankAgreement:
    """Mean Spearman correlation between estimated and true order of the models, a task; undefined ones counted."""

    mean: Quantity
    defined: int
    undefined: int

    def to_dict(self) -> dict[str, Any]:
        return {"mean": as_json(self.mean), "defined": self.defined, "undefined": self.undefined}


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> Quantity:
    """Spearman's correlation with average ranks for ties; undefined where a side is constant."""
    one, two = stats.rankdata(first), stats.rankdata(second)
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        return Undefined("all models are tied on a side")
    return float(np.corrcoef(one, two)[0, 1])


def rank_agreement(estimates: NDArray[np.float64], truth: NDArray[np.float64]) -> RankAgreement:
    """`estimates` and `truth` `[models, tasks]`; tasks that are not estimable are left out by the caller."""
    values, reasons = defined_only([spearman(e, t) for e, t in zip(estimates.T, truth.T, strict=True)])
    mean = float(np.mean(values)) if values else Undefined("undefined in every task")
    return RankAgreement(mean, len(values), len(reasons))


@dataclass(frozen=True)
class Selection:
    """Mean accuracy of choosing a model a task by its estimate, beside the two ends of what choosing could give."""

    chosen: float
    oracle: float
    best_single: float
    best_single_model: str

    @property
    def gain(self) -> float:
        """What choosing a task at a time brings over the best single model."""
        return self.chosen - self.best_single

    def to_dict(self) -> dict[str, Any]:
        return {
            "chosen": self.chosen,
            "oracle": self.oracle,
            "best_single": self.best_single,
            "best_single_model": self.best_single_model,
            "gain": self.gain,
        }


def gain_of_choosing(estimates: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """`[tasks]`: accuracy of the model of highest estimate (ties share) minus that of the best single model."""
    best = estimates == estimates.max(axis=0, keepdims=True)
    chosen = (best * truth).sum(axis=0) / best.sum(axis=0)
    return chosen - truth[int(truth.mean(axis=1).argmax())]


def select(estimates: NDArray[np.float64], truth: NDArray[np.float64], models: Sequence[str]) -> Selection:
    """Choose for each task the model of highest estimate; ties share equally. Arrays `[models, tasks]`."""
    best = estimates == estimates.max(axis=0, keepdims=True)
    chosen = (best * truth).sum(axis=0) / best.sum(axis=0)
    means = truth.mean(axis=1)
    single = int(means.argmax())
    return Selection(
        float(chosen.mean()), float(truth.max(axis=0).mean()), float(means[single]), models[single]
    )

"""Choosing hyperparameters without looking at novel classes, and with a limited look at them.

*In vs. Out of Distribution*, section 5: a configuration can be chosen by BaseGen, by ValGen, by cross-validation over
the base classes, or by asking an oracle for the NovelGen of a few configurations. What each rule loses is the best
NovelGen of all configurations minus the NovelGen of its choice.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from anyshot_analysis.episodes import BadEpisodes, draw_episodes, prototype_hits
from anyshot_analysis.features import Features

Fit = Callable[[Features], Callable[[NDArray[np.floating]], NDArray[np.floating]]]
"""A configuration: learns from base classes how to change features `[n, F]`."""


@dataclass(frozen=True)
class Chosen:
    """The configuration a rule takes, its NovelGen, and what it loses against the best configuration."""

    rule: str
    configuration: int
    novel: float
    novel_lost: float


def choose(rule: str, scores: ArrayLike, novel: ArrayLike) -> Chosen:
    """The configuration of highest score; the first wins ties."""
    judged, true = np.asarray(scores, np.float64), np.asarray(novel, np.float64)
    if judged.shape != true.shape or judged.ndim != 1 or not len(true):
        raise BadEpisodes("a rule needs one score and one NovelGen for each configuration")
    taken = int(judged.argmax())
    return Chosen(rule, taken, float(true[taken]), float(true.max() - true[taken]))


def oracle_calls_lost(novel: ArrayLike, calls: int) -> float:
    """Expected loss when `calls` configurations, drawn uniformly without replacement, are asked for their NovelGen.

    Exact: the i-th smallest of n is the best of the drawn with probability C(i - 1, k - 1) / C(n, k).
    """
    ordered = np.sort(np.asarray(novel, np.float64))
    n = len(ordered)
    if not 1 <= calls <= n:
        raise BadEpisodes(f"{calls} oracle calls for {n} configurations")
    place = np.arange(calls, n + 1)
    shares = np.exp(log_choose(place - 1, calls - 1) - log_choose(n, calls))
    return float(ordered[-1] - shares @ ordered[calls - 1 :])


def log_choose(n: ArrayLike, k: int) -> NDArray[np.float64]:
    """The logarithm of the binomial coefficient."""
    many = np.asarray(n, np.float64)
    return gammaln(many + 1) - gammaln(k + 1) - gammaln(many - k + 1)


def score_on(
    features: Features,
    change: Callable[[NDArray[np.floating]], NDArray[np.floating]],
    shape: tuple[int, int, int],
    tasks: int,
    seed: int,
) -> float:
    """Accuracy of the nearest class mean on changed features; `shape` is ways, shots, query images a class."""
    episodes = draw_episodes(features, *shape, tasks, seed)
    return float(prototype_hits(change(np.asarray(features.values)), episodes).mean())


def cross_validate_classes(
    base: Features,
    configurations: list[Fit],
    shape: tuple[int, int, int],
    folds: int = 5,
    tasks: int = 200,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Mean accuracy `[configurations]` on classes left out, when the base classes are cut into `folds` parts.

    Raises BadEpisodes where a fold has fewer classes than ways.
    """
    if folds < 2:
        raise BadEpisodes(f"cross-validation over classes needs two folds, found {folds}")
    parts = np.array_split(np.random.default_rng(seed).permutation(base.classes), folds)
    found = np.zeros((len(configurations), folds))
    for number, part in enumerate(parts):
        rest = base.restricted(np.setdiff1d(np.arange(base.classes), part))
        left_out = base.restricted(np.sort(part))
        for place, fit in enumerate(configurations):
            found[place, number] = score_on(left_out, fit(rest), shape, tasks, seed + number)
    return found.mean(axis=1)

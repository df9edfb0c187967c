"""Difficulty of a dataset, as the NeurIPS'22 Cross-Domain MetaDL paper defines it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from anyshot_scoring.errors import ScoringError


@dataclass(frozen=True)
class Difficulty:
    """`intrinsic` = 1 - best baseline; `modelling` = best - worst baseline, both in normalized accuracy.

    Half widths of their intervals are None where they are not known.
    """

    dataset: str
    intrinsic: float
    modelling: float
    intrinsic_half: float | None = None
    modelling_half: float | None = None


def measure_difficulty(
    scores: Mapping[str, Mapping[str, float]],
    best: str | None = None,
    worst: str | None = None,
    halves: Mapping[str, Mapping[str, float | None]] | None = None,
) -> list[Difficulty]:
    """Difficulty of each dataset from `scores[baseline][dataset]`, mean normalized accuracies.

    `best` and `worst` name the two baselines to compare everywhere (in the paper MetaDelta++ with pretrained
    weights and train-from-scratch with random weights); by default the best and the worst on each dataset.
    `halves` are the half widths of the scores' intervals. That of a difference takes its scores for independent, which
    on the same tasks is usually too wide; none accounts for picking the best, which makes it look better than it is.
    Raises `ScoringError` without scores, or where a baseline lacks a dataset that another one has.
    """
    datasets = sorted({name for own in scores.values() for name in own})
    if not datasets:
        raise ScoringError("Difficulty needs the score of at least one baseline on at least one dataset.")
    lacking = [(baseline, name) for baseline, own in scores.items() for name in datasets if name not in own]
    if lacking:
        raise ScoringError(f"The baseline {lacking[0][0]} has no score on {lacking[0][1]}.")
    for chosen in (best, worst):
        if chosen is not None and chosen not in scores:
            raise ScoringError(f"There is no baseline {chosen}.")
    return [
        _difficulty(
            name,
            {key: own[name] for key, own in scores.items()},
            {key: own.get(name) for key, own in (halves or {}).items()},
            best,
            worst,
        )
        for name in datasets
    ]


def _difficulty(
    dataset: str,
    scores: Mapping[str, float],
    halves: Mapping[str, float | None],
    best: str | None,
    worst: str | None,
) -> Difficulty:
    if not np.isfinite(list(scores.values())).all():
        raise ScoringError(f"A score on {dataset} is not finite.")
    top = best if best is not None else max(scores, key=scores.__getitem__)
    bottom = worst if worst is not None else min(scores, key=scores.__getitem__)
    wide, other = halves.get(top), halves.get(bottom)
    both = None if top == bottom or wide is None or other is None else float(np.hypot(wide, other))
    return Difficulty(dataset, 1.0 - scores[top], scores[top] - scores[bottom], wide, both)

"""Intervals of ranks, and groups of rows that cannot be told apart: by the model of a board, and by redraws."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability.paired import expansion


@dataclass(frozen=True)
class KnownRanks:
    """What the model of a board says of its ranks, 1 is best: of each submission the 95 % interval `low` to `high`.

    `groups` are the longest stretches of the board in which no two are told apart.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    groups: tuple[tuple[int, ...], ...]


def know_ranks(
    levels: NDArray[np.floating], apart: NDArray[np.bool_], confidence: float = 0.95
) -> KnownRanks:
    """Ranks by draws `[n, S]` of true levels, in the order of the board; `apart` `[S, S]`: one of the two is better.

    Equal levels share their ranks.
    """
    count = levels.shape[1]
    best = [1 + (levels > levels[:, [i]]).sum(axis=1) for i in range(count)]
    last = [(levels >= levels[:, [i]]).sum(axis=1) for i in range(count)]
    tail = 0.5 - confidence / 2
    return KnownRanks(
        low=np.quantile(best, tail, axis=1, method="inverted_cdf").astype(np.int64),
        high=np.quantile(last, 1 - tail, axis=1, method="inverted_cdf").astype(np.int64),
        groups=find_groups(np.arange(1, count + 1), apart),
    )


@dataclass(frozen=True)
class RankReliability:
    """What replicates say about a ranking of S submissions; all arrays in the order of the columns.

    `rank` is that of the point scores (1 is best, ties to the earlier column); `low` and `high` bound the true
    rank; `first` is the share of replicates in which the submission is first; `better[i, j]` the share in which i
    is above j (ties count half); `separated[i, j]` whether i and j differ by the family-wise test.
    """

    score: NDArray[np.float64]
    rank: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    first: NDArray[np.float64]
    better: NDArray[np.float64]
    separated: NDArray[np.bool_]
    groups: tuple[tuple[int, ...], ...]


def rank_reliability(
    scores: NDArray[np.float64], replicates: NDArray[np.float64], units: int, confidence: float = 0.95
) -> RankReliability:
    """Judge the ranking by `scores` `[S]` from bootstrap `replicates` `[B, S]` that rest on `units`.

    Rank intervals follow Mogstad, Romano, Shaikh and Wilhelm (2024), *Inference for Ranks*: submission j is surely
    below those whose difference to j is positive by simultaneous bootstrap intervals (maximum of the studentised
    differences to j), surely above those where it is negative. Counting ranks in replicates would be too narrow where
    submissions are close. `separated` uses the maximum over all pairs.
    """
    if replicates.ndim != 2 or replicates.shape[1] != len(scores) or len(replicates) < 2:
        raise ScoringError(f"The replicates are {replicates.shape}, expected [2 or more, {len(scores)}].")
    statistic, spread = _studentised(scores, replicates)
    difference = scores[:, None] - scores[None, :]
    if units < 2:  # without spread between units, nothing is sure
        difference, grow = np.zeros_like(difference), 1.0
    else:
        grow = expansion(units, confidence)
    each = np.array([_quantile(statistic, j, confidence) for j in range(len(scores))]) * grow
    surely_below = difference < -each[:, None] * spread
    surely_above = difference > each[:, None] * spread
    all_pairs = np.quantile(statistic.max(axis=(1, 2), initial=0.0), confidence) * grow
    separated = np.abs(difference) > all_pairs * spread
    rank = _ranks(scores[None])[0]
    return RankReliability(
        score=scores,
        rank=rank,
        low=1 + surely_below.sum(axis=1),
        high=len(scores) - surely_above.sum(axis=1),
        first=(_ranks(replicates) == 1).mean(axis=0),
        better=_better(replicates),
        separated=separated,
        groups=find_groups(rank, separated),
    )


def find_groups(rank: NDArray[np.int64], separated: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """Longest stretches of the board in which no two rows are separated, as columns in the order of the board.

    Stretches may overlap: the middle one of three may be tied with both others, which differ. Rows alone form none.
    """
    order = np.argsort(rank, kind="stable")
    stretches: list[tuple[int, int]] = []
    for start in range(len(order)):
        stop = start + 1
        while (
            stop < len(order)
            and not separated[np.ix_(order[start : stop + 1], order[start : stop + 1])].any()
        ):
            stop += 1
        if stop - start > 1 and (not stretches or stop > stretches[-1][1]):
            stretches.append((start, stop))
    return tuple(tuple(order[start:stop].tolist()) for start, stop in stretches)


def _studentised(
    scores: NDArray[Any], replicates: NDArray[Any]
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """|replicated - observed difference| / spread, `[B, S, S]`, and the spreads `[S, S]`.

    At most 1,000 replicates are kept here: 1,000 x 100 x 100 in single precision are 40 MB.
    """
    kept = replicates[: max(2, min(len(replicates), _most_replicates(len(scores))))] - scores
    covariance = np.cov(replicates, rowvar=False).reshape(len(scores), len(scores))
    variance = np.diag(covariance)
    spread = np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, 0.0))
    spread[spread < 1e-12] = 0.0
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0).astype(np.float32)
    deviations = kept.astype(np.float32)
    statistic = np.abs(deviations[:, :, None] - deviations[:, None, :])
    statistic *= inverse
    return statistic, spread


def _most_replicates(submissions: int) -> int:
    return max(1_000, 40_000_000 // (4 * max(submissions, 1) ** 2))


def _quantile(statistic: NDArray[Any], j: int, confidence: float) -> float:
    return float(np.quantile(statistic[:, j, :].max(axis=1, initial=0.0), confidence))


def _ranks(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Ranks `[B, S]` from 1 for the highest; of equal scores the earlier column comes first."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, scores.shape[1] + 1)[None, :], axis=1)
    return ranks


def _better(replicates: NDArray[np.float64]) -> NDArray[np.float64]:
    columns = range(replicates.shape[1])
    above = np.array([(replicates[:, [i]] > replicates).mean(axis=0) for i in columns])
    equal = np.array([(replicates[:, [i]] == replicates).mean(axis=0) for i in columns])
    return above + equal / 2

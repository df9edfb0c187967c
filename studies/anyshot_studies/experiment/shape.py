"""What the competition paper says of all methods together, as tests: curves, gains, spread."""

from itertools import combinations
from math import sqrt
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from anyshot_scoring.reliability import ScoreMatrix
from anyshot_studies.experiment.finding import Finding, FindingVerdict, sampled

LEAST = 10  # tasks of a part
NEARLY_ALL = 0.9  # of the datasets
LEVEL = 0.05


def do_not_cross(matrix: ScoreMatrix, names: list[str], by: str) -> Finding | None:
    """Methods keep their order from few to many ways or shots (three parts), each pair by its own tasks.

    It holds where each pair differs in each part, to the same side; it does not where one pair differs to both sides.
    Levels are Bonferroni's. None where a part has too few tasks.
    """
    parts = _thirds(getattr(matrix, by))
    if len(names) < 2 or min(map(len, parts), default=0) < LEAST:
        return None
    pairs = list(combinations(names, 2))
    level = LEVEL / (len(pairs) * len(parts))
    sides = {
        pair: [_side(matrix.column(pair[0])[rows] - matrix.column(pair[1])[rows], level) for rows in parts]
        for pair in pairs
    }
    claim = f"Curves of the methods over the {by} do not cross"
    crossing = [" and ".join(pair) for pair, own in sides.items() if {-1, 1} <= set(own)]
    kept = sum(abs(sum(own)) == len(parts) for own in sides.values())
    if crossing:
        words = f"these do: {', '.join(crossing).replace('_', ' ')}"
        return Finding(claim, FindingVerdict.FAILS, words)
    words = f"{kept} of {len(pairs)} pairs keep their side in all three parts of the {by}; none is seen to change it"
    verdict = FindingVerdict.HOLDS if kept == len(pairs) else FindingVerdict.UNDECIDED
    return Finding(claim, verdict, words)


def gains_early(matrix: ScoreMatrix, names: list[str]) -> Finding | None:
    """From one to five shots more is gained than from there to the most: twice the middle minus both ends."""
    shots, scores = matrix.shots, np.mean([matrix.column(name) for name in names], axis=0)
    most = int(shots.max())
    parts = [scores[shots <= 2], scores[(shots >= 4) & (shots <= 6)], scores[shots >= most - 2]]
    if most < 12 or min(map(len, parts)) < LEAST:
        return None
    low, middle, high = (float(part.mean()) for part in parts)
    excess = 2 * middle - low - high
    spread = [float(part.var(ddof=1)) / len(part) for part in parts]
    error = sqrt(spread[0] + 4 * spread[1] + spread[2])
    half = cast(float, stats.t.ppf(1 - LEVEL / 2, min(map(len, parts)) - 1)) * error
    ends = excess - half, excess + half
    words = f"{middle - low:+.3f} up to five shots, {high - middle:+.3f} from there to {most}"
    return Finding(
        "Most of the gain comes up to five shots",
        FindingVerdict.above_zero(*ends),
        f"{words}; difference {excess:+.3f} [{ends[0]:+.3f}, {ends[1]:+.3f}], 95 % over other tasks",
        sampled("gain up to five shots minus gain beyond", excess, ends),
    )


def are_spread(matrix: ScoreMatrix, names: list[str]) -> Finding | None:
    """On nearly all datasets the methods differ: Friedman's test on each dataset's tasks, Bonferroni over datasets.

    It holds where they differ on nine of ten. That they do not differ cannot be shown so. None for two methods.
    """
    if len(names) < 3:
        return None
    columns = [matrix.column(name) for name in names]
    rows = [np.flatnonzero(matrix.dataset == place) for place in range(len(matrix.datasets))]
    if min(map(len, rows)) < LEAST:
        return None
    differ = sum(_differ([column[own] for column in columns], LEVEL / len(rows)) for own in rows)
    enough = differ >= NEARLY_ALL * len(rows)
    return Finding(
        "Methods are spread on nearly all datasets",
        FindingVerdict.HOLDS if enough else FindingVerdict.UNDECIDED,
        f"they differ on {differ} of {len(rows)} datasets",
    )


def _thirds(values: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Tasks of the low, middle and high third of the values that there are."""
    return [np.flatnonzero(np.isin(values, part)) for part in np.array_split(np.unique(values), 3)]


def _side(differences: NDArray[np.float64], level: float) -> int:
    """1 or -1 where the mean of paired differences is above or below 0 at that level, else 0."""
    if np.ptp(differences) == 0:
        return int(np.sign(differences[0]))
    half = cast(float, stats.t.ppf(1 - level / 2, len(differences) - 1)) * stats.sem(differences)
    mean = float(differences.mean())
    return 0 if abs(mean) <= half else int(np.sign(mean))


def _differ(columns: list[NDArray[np.float64]], level: float) -> bool:
    if all(np.array_equal(columns[0], column) for column in columns[1:]):
        return False
    return float(stats.friedmanchisquare(*columns).pvalue) < level

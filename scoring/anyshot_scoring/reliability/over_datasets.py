"""Submissions over datasets, as the field compares them: each dataset is one observation.

Average ranks with Friedman's test and Nemenyi's critical difference (Demsar 2006, *Statistical Comparisons of
Classifiers over Multiple Data Sets*); for pairs Wilcoxon's signed-rank test with Holm's correction, which does not
depend on the other submissions (Benavoli, Corani and Mangili 2016), and the Bayesian signed-rank test with a region of
practical equivalence (Benavoli, Corani, Demsar and Zaffalon 2017, *Time for a Change*).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.joins import Join
from anyshot_scoring.reliability.agreement import tau_b
from anyshot_scoring.reliability.matrix import ScoreMatrix
from anyshot_scoring.reliability.paired import Interval, percentile_interval
from anyshot_scoring.reliability.resampling import MOST_ENUMERATED, Population, resample
from anyshot_scoring.rules import Rule, find_rule
from anyshot_scoring.undefined import Undefined

MARGIN = 0.01
FEWEST_DATASETS = 6  # with five, no signed-rank test can reach 5 %: 2 / 2^5 = 0.0625
MOST_PAIRED = 12  # submissions from the top, all pairs of which are tested
PRIOR, DRAWS = 0.5, 20_000


@dataclass(frozen=True)
class CriticalDifference:
    """Average ranks `[S]` over D datasets (1 is best), and by how much they must differ at `level` (Nemenyi).

    `p` is that of Friedman's hypothesis that all are equal, by Iman and Davenport's F. `groups` are the longest
    stretches of the order by average rank whose ends differ by less, as positions of submissions, best first.
    """

    ranks: NDArray[np.float64]
    difference: float
    p: float
    level: float
    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class DatasetPair:
    """`first` against `second` over datasets.

    `p` is Wilcoxon's, `holm` corrected for all pairs of the first twelve submissions. `above`, `same` and `below` are
    the probabilities that on most new datasets the first is better by over the margin, that both are practically equal,
    and that the second is better.
    """

    first: str
    second: str
    mean: float
    wins: int
    ties: int
    losses: int
    p: float
    holm: float
    above: float
    same: float
    below: float


@dataclass(frozen=True)
class DatasetScore:
    """A submission's score by the join of its runs, the mean over all tasks, with 95 % intervals over datasets.

    `plain` is the t-interval, `drawn` that of draws of whole datasets (all of them up to six: `exact`), `staged` of
    the two-stage bootstrap, wider by the noise of the tasks inside datasets. Below six datasets draws do not reach
    95 %, so these two are undefined.
    """

    key: str
    score: float
    plain: Interval
    drawn: Interval | Undefined
    staged: Interval | Undefined
    exact: bool


@dataclass(frozen=True)
class WithoutDataset:
    """The board without one dataset: its order, best first, and tau-b with the whole board."""

    dataset: str
    order: tuple[str, ...]
    tau: float | Undefined

    @property
    def leader(self) -> str:
        return self.order[0]


@dataclass(frozen=True)
class OverDatasets:
    """All of it, submissions in the order of the board. Below six datasets tests are undefined: none can reject."""

    datasets: int
    margin: float
    ranks: CriticalDifference | Undefined
    pairs: tuple[DatasetPair, ...] | Undefined
    scores: tuple[DatasetScore, ...]
    without: tuple[WithoutDataset, ...]

    @property
    def least_p(self) -> float:
        """The smallest corrected p of a signed-rank test that so many datasets and pairs allow."""
        pairs = 1 if isinstance(self.pairs, Undefined) else len(self.pairs)
        return min(1.0, pairs * 2.0 ** (1 - self.datasets))

    @property
    def changed(self) -> tuple[WithoutDataset, ...]:
        """The datasets without which another submission leads."""
        return tuple(w for w in self.without if w.leader != self.scores[0].key)


def compare_over_datasets(
    board: ScoreMatrix,
    rule: Rule,
    *,
    margin: float = MARGIN,
    replicates: int = 10_000,
    seed: int = 0,
    by_task: ScoreMatrix | None = None,
) -> OverDatasets | Undefined:
    """Compare the submissions of a `board`, its columns best first, over its datasets.

    Scores on a dataset are those of the runs that the rule counts. `margin` is the difference that does not matter.
    `by_task` is the board with each task once, where its runs have the same tasks (`counted_once`).
    Undefined for a single dataset.
    """
    if len(board.datasets) < 2:
        return Undefined("a single dataset says nothing about others")
    if (np.bincount(board.run * len(board.datasets) + board.dataset) == 0).any():
        return Undefined("a run has no task of one of the datasets")
    values = board.counting_means(rule.join)
    few = Undefined(f"{len(values)} datasets: no rank test can reach 5 % with fewer than {FEWEST_DATASETS}")
    enough = len(values) >= FEWEST_DATASETS and values.shape[1] > 1
    return OverDatasets(
        datasets=len(values),
        margin=margin,
        ranks=critical_difference(values) if enough else few,
        pairs=_pairs(board.keys[:MOST_PAIRED], values, margin, seed) if enough else few,
        scores=_scores(board, board if by_task is None else by_task, values, rule.join, replicates, seed),
        without=leave_one_out(board, rule),
    )


def critical_difference(scores: NDArray[np.float64], level: float = 0.05) -> CriticalDifference:
    """Average ranks of scores `[D, S]`, higher is better, ties sharing theirs, with Nemenyi's critical difference.

    q sqrt(S (S + 1) / (6 D)), q the quantile of the Studentized range over sqrt(2). Raises `ScoringError` below two
    rows or columns.
    """
    datasets, entries = scores.shape
    if datasets < 2 or entries < 2:
        raise ScoringError("A critical difference needs two datasets and two submissions.")
    by_dataset = scipy.stats.rankdata(-scores, axis=1)
    ranks = by_dataset.mean(axis=0)
    difference = _nemenyi(entries, level) * float(np.sqrt(entries * (entries + 1) / (6 * datasets)))
    return CriticalDifference(ranks, difference, friedman(by_dataset), level, _stretches(ranks, difference))


@cache
def _nemenyi(entries: int, level: float) -> float:
    """The quantile of the Studentized range over sqrt(2): table 5 of Demsar."""
    return float(scipy.stats.studentized_range.ppf(1 - level, entries, np.inf)) / float(np.sqrt(2))


def friedman(ranks: NDArray[np.float64]) -> float:
    """P-value that all submissions are equal, from ranks `[D, S]` (Iman and Davenport 1980, with ties).

    F is the ratio of the mean squares of a two-way layout of ranks; constant ranks differ for sure.
    """
    datasets, entries = ranks.shape
    between = datasets * float(((ranks.mean(axis=0) - ranks.mean()) ** 2).sum())
    within = float(((ranks - ranks.mean(axis=1, keepdims=True)) ** 2).sum())
    rest = within - between
    if within == 0:
        return 1.0
    if rest <= 1e-12 * within:
        return 0.0
    return float(special.fdtrc(entries - 1, (entries - 1) * (datasets - 1), between * (datasets - 1) / rest))


def _stretches(ranks: NDArray[Any], difference: float) -> tuple[tuple[int, ...], ...]:
    order = np.argsort(ranks, kind="stable")
    sorted_ranks = ranks[order]
    ends = [int(np.searchsorted(sorted_ranks, rank + difference, side="right")) for rank in sorted_ranks]
    longest = [(i, end) for i, end in enumerate(ends) if end - i > 1 and (i == 0 or end > ends[i - 1])]
    return tuple(tuple(order[i:end].tolist()) for i, end in longest)


def signed_rank_probabilities(
    differences: NDArray[np.float64], margin: float = MARGIN, seed: int = 0, draws: int = DRAWS
) -> tuple[float, float, float]:
    """Probabilities that the difference lies above, within and below the margin, on most new datasets.

    The Bayesian signed-rank test: Dirichlet weights over the D differences and a prior observation of 0 with weight
    0.5; each draw goes to the region that holds most of the Walsh averages (z_i + z_j) / 2. Averages on a border count
    half to either side.
    """
    values = np.append(differences, 0.0)
    averages = (values[:, None] + values[None, :]) / 2
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.append(np.ones(len(differences)), PRIOR), draws)
    above = _mass(weights, _step(averages - margin))
    below = _mass(weights, _step(-averages - margin))
    winner = np.argmax(np.stack([above, 1.0 - above - below, below]), axis=0)
    shares = np.bincount(winner, minlength=3) / draws
    return float(shares[0]), float(shares[1]), float(shares[2])


def _step(values: NDArray[Any]) -> NDArray[Any]:
    return np.where(np.abs(values) < 1e-12, 0.5, (values > 0).astype(np.float64))


def _mass(weights: NDArray[Any], region: NDArray[Any]) -> NDArray[Any]:
    return ((weights @ region) * weights).sum(axis=1)


def _pairs(keys: Sequence[str], values: NDArray[Any], margin: float, seed: int) -> tuple[DatasetPair, ...]:
    places = list(combinations(range(len(keys)), 2))
    tests = [signed_rank_p(values[:, i] - values[:, j]) for i, j in places]
    corrected = holm(tests)
    return tuple(
        _pair(keys[i], keys[j], values[:, i] - values[:, j], p, h, margin, seed)
        for (i, j), p, h in zip(places, tests, corrected, strict=True)
    )


def _pair(
    first: str, second: str, gaps: NDArray[Any], p: float, corrected: float, margin: float, seed: int
) -> DatasetPair:
    above, same, below = signed_rank_probabilities(gaps, margin, seed)
    return DatasetPair(
        first=first,
        second=second,
        mean=float(gaps.mean()),
        wins=int((gaps > 0).sum()),
        ties=int((gaps == 0).sum()),
        losses=int((gaps < 0).sum()),
        p=p,
        holm=corrected,
        above=above,
        same=same,
        below=below,
    )


def signed_rank_p(differences: NDArray[np.float64]) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test, zeros left out; exact up to 13 datasets; 1 where all are 0."""
    kept = differences[differences != 0]
    if not len(kept):
        return 1.0
    ranks = scipy.stats.rankdata(np.abs(kept))
    if len(kept) > 13:
        return float(scipy.stats.wilcoxon(kept).pvalue)
    signs = 1 - 2 * ((np.arange(2 ** len(kept))[:, None] >> np.arange(len(kept))) & 1)
    reached = np.abs(signs @ ranks) >= abs(float(np.sign(kept) @ ranks)) - 1e-9
    return float(reached.mean())


def holm(p: Sequence[float]) -> list[float]:
    """P-values corrected for all tests together (Holm 1979)."""
    order = np.argsort(p)
    grown = np.maximum.accumulate(np.asarray(p)[order] * (len(p) - np.arange(len(p))))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(grown, 1.0)
    return corrected.tolist()


def _scores(
    board: ScoreMatrix,
    by_task: ScoreMatrix,
    values: NDArray[Any],
    join: Join,
    replicates: int,
    seed: int,
) -> tuple[DatasetScore, ...]:
    rule, units = find_rule(f"{join.name}_run"), len(board.datasets)
    scores = rule.points(board.run_means(), board.run_dataset_means())
    drawn, staged = (
        resample(of, Population.DATASETS, replicates=replicates, seed=seed, rule=rule, one_stage=whole)
        for of, whole in ((board, True), (by_task, False))
    )
    shares = np.bincount(board.dataset, minlength=units) / len(board.dataset)
    return tuple(
        DatasetScore(
            key=key,
            score=float(scores[i]),
            plain=_plain(float(scores[i]), values[:, i], shares),
            drawn=_of_draws(drawn[:, i], units),
            staged=_of_draws(staged[:, i], units),
            exact=units <= MOST_ENUMERATED,
        )
        for i, key in enumerate(board.keys)
    )


def _of_draws(replicates: NDArray[Any], units: int) -> Interval | Undefined:
    """Below six datasets the ends of their draws are no 95 %: those of three are any of the three in 1 of 27."""
    if units < FEWEST_DATASETS:
        return Undefined(f"{units} datasets: their draws do not reach 95 % with fewer than {FEWEST_DATASETS}")
    return percentile_interval(replicates, units)


def _plain(score: float, values: NDArray[Any], shares: NDArray[Any]) -> Interval:
    """The t-interval of a mean of D datasets' values that are weighted by their shares of the tasks."""
    units = len(values)
    deviation = float(np.sqrt(units / (units - 1) * np.sum((shares * (values - score)) ** 2)))
    half = float(special.stdtrit(units - 1, 0.975)) * deviation
    return Interval(score - half, score + half, 0.95, units)


def leave_one_out(board: ScoreMatrix, rule: Rule) -> tuple[WithoutDataset, ...]:
    """The order of the board, by its rule, without each dataset in turn; ties go to the earlier column."""
    whole = rule.points(board.run_means(), board.run_dataset_means())
    made = []
    for place, name in enumerate(board.datasets):
        rest = board.select(board.dataset != place)
        rest = replace(
            rest,
            datasets=board.datasets[:place] + board.datasets[place + 1 :],
            dataset=rest.dataset - (rest.dataset > place),
        )
        points = rule.points(rest.run_means(), rest.run_dataset_means())
        order = np.argsort(-points, kind="stable")
        made.append(WithoutDataset(name, tuple(board.keys[i] for i in order), tau_b(points, whole)))
    return tuple(made)

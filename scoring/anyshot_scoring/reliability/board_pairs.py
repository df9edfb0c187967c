"""What the one crossed model of a board says of two of its submissions: interval, probability and verdict.

This is the one judgement of two submissions, for boards, comparisons, mails and reports. It goes by the ranking rule of
the board, and by what all of its submissions show: how far tasks, datasets and runs move differences, and how far apart
submissions are. So many pairs of one board need no correction: lucky differences are drawn towards the middle (Gelman,
Hill and Yajima 2012, *Why We (Usually) Don't Have to Worry About Multiple Comparisons*). Two submissions without a
board are a board of two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.reliability.crossed_levels import draw_populations
from anyshot_scoring.reliability.crossed_model import fit_crossed
from anyshot_scoring.reliability.differences import MARGIN
from anyshot_scoring.reliability.matrix import ScoreMatrix, align
from anyshot_scoring.reliability.paired import Interval, Verdict, count_units, judge, why_undefined
from anyshot_scoring.reliability.resampling import Population
from anyshot_scoring.rules import Rule
from anyshot_scoring.table import TaskTable
from anyshot_scoring.undefined import Undefined

POPULATIONS_OF_PAIRS = (Population.TASKS, Population.DATASETS)


@dataclass(frozen=True)
class JudgedPair:
    """First minus second, in the unit that the rule ranks by, and what is known of it over a population.

    Attributes:
        difference: as the board has it.
        interval: 95 % of the true difference over the population that was asked for, other tasks of these datasets
            where none was; undefined under six of its units.
        better: probability that the first is truly better there; undefined as the interval.
        verdict: by that interval and the one at 90 %, as `judge` has it; undecided where they are undefined.
        elsewhere: the same probability over other datasets; undefined under six of them.
    """

    difference: float
    interval: Interval | Undefined
    better: float | Undefined
    verdict: Verdict
    elsewhere: float | Undefined


@dataclass(frozen=True)
class KnownBoard:
    """A board with draws of what its rule ranks by, `[n, S]` a population, by the true levels of its submissions.

    `points` `[S]` are what it ranks by, higher is better; `tasks` is how many there are, each counted once.
    """

    keys: tuple[str, ...]
    points: NDArray[np.float64]
    rule: Rule
    tasks: int
    units: Mapping[Population, int]
    drawn: Mapping[Population, NDArray[np.float32] | Undefined]

    def judge(
        self, first: str, second: str, margin: float = MARGIN, population: Population = Population.TASKS
    ) -> JudgedPair:
        """What is known of two of the submissions, over `population`; ranks that are averaged have no margin."""
        i, j = self.keys.index(first), self.keys.index(second)
        margin = 0.0 if self.rule.relative else margin
        interval, better, verdict = self._judge(population, self._gaps(population, i, j), margin)
        wider = self._gaps(Population.DATASETS, i, j)
        return JudgedPair(
            difference=float(self.points[i] - self.points[j]),
            interval=interval,
            better=better,
            verdict=verdict,
            elsewhere=wider if isinstance(wider, Undefined) else _share(wider),
        )

    def _judge(
        self, population: Population, gaps: NDArray[np.float32] | Undefined, margin: float
    ) -> tuple[Interval | Undefined, float | Undefined, Verdict]:
        if isinstance(gaps, Undefined):
            return gaps, gaps, "undecided"
        units = self.units[population]
        wide, narrow = (_interval(gaps, confidence, units) for confidence in (0.95, 0.9))
        return wide, _share(gaps), judge(wide, narrow, margin)

    def _gaps(self, population: Population, i: int, j: int) -> NDArray[np.float32] | Undefined:
        drawn = self.drawn[population]
        return drawn if isinstance(drawn, Undefined) else drawn[:, i] - drawn[:, j]


def know_boards(
    submissions: Mapping[str, Sequence[TaskTable]], rule: Rule, *, shared_tasks: bool = False
) -> list[KnownBoard]:
    """A board for each group of two submissions or more that met the same tasks, by the tables of their runs.

    One with a task that has no score is on none of them.
    """
    groups: dict[object, dict[str, Sequence[TaskTable]]] = {}
    for key, runs in submissions.items():
        if all(np.isfinite(table.normalized_accuracy).all() for table in runs):
            groups.setdefault(_what_was_met(runs), {})[key] = runs
    boards = [align(group) for group in groups.values() if len(group) > 1]
    return [know_board(matrix, rule, shared_tasks=shared_tasks) for matrix in boards]


def _what_was_met(runs: Sequence[TaskTable]) -> object:
    """The same of submissions that `align` puts side by side."""
    ordered = [table.sorted() for table in runs]
    return tuple(
        (
            tuple(table.dataset.tolist()),
            *(getattr(table, name).tobytes() for name in ("task", "ways", "shots")),
        )
        for table in ordered
    )


def know_board(matrix: ScoreMatrix, rule: Rule, *, shared_tasks: bool = False, seed: int = 0) -> KnownBoard:
    """Fit the one model to a board of two submissions or more; `shared_tasks`: its runs met the same tasks.

    The draws are those of `assess`, whose columns are in the order of submission too: it states the same probabilities.
    """
    points = rule.points(matrix.run_means(), matrix.run_dataset_means())
    board = matrix.submissions(np.argsort(-points, kind="stable"))
    once = board.select(board.run == 0) if shared_tasks else board
    reasons = {p: why_undefined(once, None, p) for p in POPULATIONS_OF_PAIRS}
    units = {p: count_units(once, p) for p, reason in reasons.items() if not reason}
    found = draw_populations(fit_crossed(board, shared_tasks=shared_tasks), rule, units, seed)
    drawn = {p: Undefined(reason) if reason else found[p] for p, reason in reasons.items()}
    return KnownBoard(
        keys=board.keys,
        points=np.sort(points)[::-1],
        rule=rule,
        tasks=len(once.scores),
        units=units,
        drawn={p: d if isinstance(d, Undefined) else d.true.astype(np.float32) for p, d in drawn.items()},
    )


def _interval(gaps: NDArray[np.float32], confidence: float, units: int) -> Interval:
    low, high = np.quantile(gaps, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return Interval(float(low), float(high), confidence, units)


def _share(gaps: NDArray[np.float32]) -> float:
    """The probability to be above 0; equal draws count half."""
    return float((gaps > 0).mean() + (gaps == 0).mean() / 2)

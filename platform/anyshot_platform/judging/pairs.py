"""What is said of two submissions that met the same tasks: one statement, for boards, exports and comparisons.

The statistic is first minus second over the tasks of the runs that count by the phase's rule, with its t-interval.
Where one's run counts and another of the other's, on other tasks, the two have no tasks in common there: then it is the
mean over all tasks and runs. A task that several runs of a submission met is one task. The statement says what another
draw of tasks of the same datasets could show; other datasets or seeds could show something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from anyshot_platform.judging.tables import counting_digests_of, read_all
from anyshot_platform.kernel.language import say
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.phases.models import PhaseVersion
from anyshot_scoring.reliability.matrix import NotComparable, ScoreMatrix, align
from anyshot_scoring.reliability.paired import Verdict
from anyshot_scoring.reliability.shared_tasks import counted_once, where_all_count
from anyshot_scoring.reliability.verdicts import MARGIN, weigh_differences
from anyshot_scoring.rules import Rule
from anyshot_scoring.table import TaskTable


@dataclass(frozen=True)
class Statement:
    """First minus second; `half_width` is that of the 95 % interval, None where a single task has none."""

    difference: float
    half_width: float | None
    verdict: Verdict
    tasks: int

    @property
    def told_apart(self) -> bool:
        """Whether one of the two is better; else the order is not sure, or does not matter."""
        return self.verdict == "different"

    def confirms(self, order: float) -> bool:
        """Whether one is better, and it is the one that is ahead: the first where `order` is positive."""
        return self.told_apart and self.difference * order > 0

    def words_beside(self, first: str, second: str, order: float) -> str:
        """The statement beside a ranking, which may go by the worst run or dataset: what to think of it if it differs.

        The first is ahead where `order` is positive.
        """
        words = self.words(first, second)
        if self.difference * order >= 0 or self.verdict == "equivalent":
            return words
        return say(
            "%(statement)s This is by the mean over all tasks and runs; the ranking is by another figure of them.",
            statement=words,
        )

    def words(self, first: str, second: str) -> str:
        """The statement as a sentence about two names."""
        better, size = first if self.difference > 0 else second, abs(self.difference)
        if self.verdict == "different":
            return say(
                "%(better)s is better by %(size)s, which is more than chance in the draw of tasks explains.",
                better=better,
                size=f"{size:.3f}",
            )
        if self.verdict == "equivalent":
            return say(
                "For practical purposes %(first)s and %(second)s are equal: any difference is below "
                "%(margin)s.",
                first=first,
                second=second,
                margin=f"{MARGIN:.2f}",
            )
        return say(
            "It cannot be told which is better: %(better)s is ahead by %(size)s, but another draw of "
            "tasks could turn the order round.",
            better=better,
            size=f"{size:.3f}",
        )


def side_by_side(tables: Mapping[str, Sequence[TaskTable]], version: PhaseVersion) -> ScoreMatrix:
    """Submissions, by tables of one seeded run each, on the tasks that they met. Raises `NotComparable`."""
    return _aligned(tables, version.runs_share_tasks, version.rule)


def _aligned(tables: Mapping[str, Sequence[TaskTable]], share_tasks: bool, rule: Rule) -> ScoreMatrix:
    matrix = align(tables)
    if share_tasks and matrix.runs > 1:
        return counted_once(matrix, rule)
    return where_all_count(matrix, rule) or matrix


def make_statement(difference: NDArray[np.float64], pairs: int = 1) -> Statement:
    """What differences by task `[T]` say; with `pairs` pairs that shall hold together, after Bonferroni."""
    found = weigh_differences(difference, level=0.05 / pairs)
    return Statement(found.mean, found.half_width, found.verdict, len(difference))


def read_statements(
    session: Session, storage: Storage, version: PhaseVersion, pairs: Sequence[tuple[str, str]]
) -> list[Statement | None]:
    """The statement on each pair of submissions, by their ids.

    None where there is nothing to say: the results of single tasks are gone, or the two met other tasks.
    """
    submissions = list(dict.fromkeys(identity for pair in pairs for identity in pair))
    digests = counting_digests_of(session, submissions, version)
    how = version.runs_share_tasks, version.rule
    return [_of_stored(storage, digests[first], digests[second], *how) for first, second in pairs]


@lru_cache(maxsize=4096)
def _of_stored(
    storage: Storage, first: tuple[str, ...], second: tuple[str, ...], share_tasks: bool, rule: Rule
) -> Statement | None:
    """Digests never change their content, so a statement stays; one of files that are gone is not asked for again."""
    tables = read_all(storage, first), read_all(storage, second)
    if tables[0] is None or tables[1] is None:
        return None
    try:
        matrix = _aligned({"first": tables[0], "second": tables[1]}, share_tasks, rule)
    except NotComparable:
        return None
    return make_statement(matrix.column("first") - matrix.column("second"))

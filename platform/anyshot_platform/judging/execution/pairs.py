"""What is said of two submissions: one statement, for boards, exports, mails and comparisons.

It is read off the one model of the board (`anyshot_scoring.reliability.board_pairs`): first minus second in what the
phase's rule ranks by, its interval and probability over other tasks of these datasets, and the probability over other
datasets. A model is fitted once for results that stay as they are, and kept in the process.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.filters import chance
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.tables import counting_digests_of, read_all
from anyshot_scoring.reliability.board_pairs import JudgedPair, KnownBoard, know_boards
from anyshot_scoring.reliability.differences import MARGIN
from anyshot_scoring.reliability.paired import Verdict
from anyshot_scoring.rules import Rule
from anyshot_scoring.undefined import Undefined

MOST_ON_A_BOARD = 100  # submissions in one model
_MOST_KEPT = 32  # models in a process
_kept: OrderedDict[object, Future[list[KnownBoard]]] = OrderedDict()
_guard = threading.Lock()


@dataclass(frozen=True)
class Statement:
    """What the one model of the board says of two submissions: the first minus the second."""

    difference: Annotated[float, Field(description="in what the phase ranks by")]
    low: Annotated[
        float | None, Field(description="of the 95 % interval over other tasks of these datasets, as `high`")
    ]
    high: float | None
    better: Annotated[
        float | None,
        Field(
            description="probability that the first is truly better on other tasks of these datasets; null, as the "
            "interval, under six tasks"
        ),
    ]
    elsewhere: Annotated[
        float | None,
        Field(description="the same probability over other datasets; null under six datasets"),
    ]
    verdict: Verdict
    tasks: Annotated[int, Field(description="each counted once, however many runs met it")]
    in_ranks: Annotated[
        bool, Field(description="whether the phase ranks by average ranks, and not by scores")
    ] = False

    @property
    def told_apart(self) -> bool:
        """Whether one of the two is better; else the order is not sure, or does not matter."""
        return self.verdict == "different"

    @property
    def confirmed(self) -> bool:
        """Whether the first is the one that is better."""
        return self.told_apart and self.ahead > 0

    @property
    def ahead(self) -> float:
        """Above 0 where the first is the one that is better, or ahead."""
        return self.difference if self.better is None or not self.told_apart else self.better - 0.5

    def turned(self) -> Statement:
        """The same of second minus first."""
        return replace(
            self,
            difference=0 - self.difference,  # not -0.0
            low=None if self.high is None else 0 - self.high,
            high=None if self.low is None else 0 - self.low,
            better=None if self.better is None else 1 - self.better,
            elsewhere=None if self.elsewhere is None else 1 - self.elsewhere,
        )

    def words(self, first: str, second: str) -> str:
        """The statement as a sentence about two names."""
        size = f"{abs(self.difference):.3f}"
        level = float(size) == 0  # what rounds to nothing is no lead
        better, other = (first, second) if self.ahead > 0 else (second, first)
        amount = f"{size} average ranks" if self.in_ranks else size
        if self.verdict == "equivalent":
            return (
                f"For practical purposes {first} and {second} are equal: the difference is very "
                f"likely below {MARGIN:.2f}."
            )
        if self.better is None and level:
            return f"Too close to call: {first} and {second} are level, and there are too few tasks to tell more."
        if self.better is None:
            return (
                f"Too close to call: {better} is ahead of {other} by {amount}, but there are too "
                "few tasks to tell more."
            )
        likely = first if self.better >= 0.5 else second
        likelihood = chance(max(self.better, 1 - self.better))
        if self.verdict == "different":
            return (
                f"{better} is better than {other} by {amount}, more than task sampling alone "
                f"would explain (probability {likelihood})."
            )
        if level:
            return (
                f"Too close to call: {first} and {second} are level, and another draw of tasks "
                f"would put one of them ahead (probability that {likely} is truly better: "
                f"{likelihood})."
            )
        return (
            f"Too close to call: {better} is ahead of {other} by {amount}, but another draw of "
            f"tasks could reverse the order (probability that {likely} is truly better: "
            f"{likelihood})."
        )


def read_statements(
    session: Session,
    storage: Storage,
    version: PhaseVersion,
    board: Sequence[str],
    pairs: Sequence[tuple[str, str]],
) -> list[Statement | None]:
    """The statement on each pair of submissions, by their ids, from the model of the `board` and of those asked about.

    None where there is nothing to say: the results of single tasks are gone, or the two met other tasks.
    """
    asked = sorted(identity for pair in pairs for identity in pair)  # in whichever order: one model, kept
    submissions = list(dict.fromkeys([*board, *asked]))
    digests = counting_digests_of(session, submissions, version)
    known = [one for one in submissions if digests[one]]
    models = know(
        storage, tuple(digests[one] for one in known), share_tasks=version.runs_share_tasks, rule=version.rule
    )
    places = {one: str(place) for place, one in enumerate(known)}
    return [_state(models, places.get(first), places.get(second)) for first, second in pairs]


def know(
    storage: Storage, digests: tuple[tuple[str, ...], ...], *, share_tasks: bool, rule: Rule
) -> list[KnownBoard]:
    """The models of submissions by the digests of their runs' results; keys are the places in this list.

    Digests never change their content, so a model stays. Threads that ask for the same one wait for the one fit.
    """
    key = (storage, digests, share_tasks, rule)
    with _guard:
        found = _kept.get(key)
        own = None if found else Future[list[KnownBoard]]()
        if own is not None:
            _kept[key] = own
        _kept.move_to_end(key)
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    if own is None:
        assert found is not None
        return found.result()
    try:
        own.set_result(_fit(storage, digests, share_tasks, rule))
    finally:
        if not own.done():
            own.cancel()
            with _guard:
                _kept.pop(key, None)
    return own.result()


def _fit(
    storage: Storage, digests: Sequence[tuple[str, ...]], share_tasks: bool, rule: Rule
) -> list[KnownBoard]:
    tables = {str(place): read_all(storage, own) for place, own in enumerate(digests)}
    return know_boards({key: own for key, own in tables.items() if own}, rule, shared_tasks=share_tasks)


def _state(models: Sequence[KnownBoard], first: str | None, second: str | None) -> Statement | None:
    for model in models:
        if first in model.keys and second in model.keys:
            return make_statement(model.judge(first, second), model)
    return None


def make_statement(found: JudgedPair, model: KnownBoard) -> Statement:
    """What the model found, as it is shown."""
    interval = None if isinstance(found.interval, Undefined) else found.interval
    return Statement(
        difference=found.difference,
        low=interval and interval.low,
        high=interval and interval.high,
        better=None if isinstance(found.better, Undefined) else found.better,
        elsewhere=None if isinstance(found.elsewhere, Undefined) else found.elsewhere,
        verdict=found.verdict,
        tasks=model.tasks,
        in_ranks=model.rule.relative,
    )

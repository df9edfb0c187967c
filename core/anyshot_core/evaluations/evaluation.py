"""What a further evaluation is: tests by other protocols than the phase's, or on another part of the data."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from anyshot_core.data.pool import Pool
from anyshot_core.evaluations.needs import require_scorable, require_sides
from anyshot_core.protocols.roles import Roles
from anyshot_core.protocols.task import Protocol, ProtocolError, ProtocolSettings

_KEY = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
MOST_POINTS = 40


@dataclass(frozen=True)
class EvaluationPoint:
    """One test of a learner; an evaluation has one, or several that make a table or a curve.

    Attributes:
        key: short name, unique within its evaluation; `label` is what pages show.
        protocol: how tasks are drawn.
        at: the place on a curve's axis; None where the points make none.
        domain: only the datasets of that domain are tested on; None for all.
    """

    key: str
    label: str
    protocol: Protocol
    at: float | None = None
    domain: str | None = None


@dataclass(frozen=True)
class FurtherEvaluation(ProtocolSettings):
    """Base of all kinds: its fields are settings.

    Attributes:
        tasks: how many tasks each point has; 0 for as many as the run itself.
        key: its short name, where one kind stands twice; empty for the kind's name.
        pool: the name of the pool to test on, in a dry run a folder; empty for the one that the run is tested on.
    """

    title: ClassVar[str]
    says: ClassVar[str]  # what it tells, in a sentence
    axis: ClassVar[str] = ""  # what `at` of its points is, where they make a curve
    may_be_validated: ClassVar[bool] = False  # it tests what training validates on
    pools: ClassVar[str] = (
        "own"  # "own": of the phase's pool alone; "any": or of another; "other": of another
    )

    tasks: int = 0
    key: str = ""
    pool: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tasks < 0 or self.tasks == 1:
            raise ProtocolError(
                f"{self.name}: tasks must be at least 2, or 0 for as many as the run; found {self.tasks}."
            )
        if self.key and not _KEY.fullmatch(self.key):
            raise ProtocolError(
                f"{self.name}: key must be up to 40 small letters, digits, dots, dashes; found {self.key!r}."
            )
        if self.pools == "other" and not self.pool:
            raise ProtocolError(f"{self.name} needs a pool: write {self.name} pool=NAME.")
        if self.pools == "own" and self.pool:
            raise ProtocolError(f"{self.name} is about the pool that is tested on: leave `pool` out.")

    @property
    def short_name(self) -> str:
        """What files, addresses and columns call it."""
        return self.key or self.name

    @property
    def more(self) -> str:
        """What tells it from others of its kind: its key, or the name of its pool."""
        return self.key or self.pool.rstrip("/").rpartition("/")[2]

    @property
    def words(self) -> str:
        """What reports call it."""
        return f"{self.title} ({self.more})" if self.more else self.title

    def points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        """The tests that it consists of, for learners trained as `roles` say; `domains` are those of its pool.

        Raises:
            ProtocolError: it says nothing with these protocols; names what it needs.
        """
        found = self._points(roles, domains)
        if len(found) > MOST_POINTS:
            raise ProtocolError(f"{self.name}: found {len(found)} points; there may be {MOST_POINTS}.")
        for point in found:
            require_scorable(point.protocol)
        return found

    def _points(self, roles: Roles, domains: Sequence[str]) -> tuple[EvaluationPoint, ...]:
        raise NotImplementedError

    def check(self, roles: Roles, train: Pool, test: Pool, pool: Pool) -> None:
        """Raise `ProtocolError` where a task of a point cannot be drawn, or tests what was trained on.

        `train` and `test` are the pools of the run itself, `pool` is what this evaluation tests on.
        """
        tested = {pack.content_digest for pack in pool}
        require_sides(roles, [pack for pack in train if pack.content_digest in tested], test)
        for point in self.points(roles, domains_of(pool)):
            part = pool_part(pool, point)
            point.protocol.check(part)  # first: a protocol cannot tell the rows of a side without classes
            roles.require_unseen(point.protocol, train, test, part, validated=self.may_be_validated)

    def _one(self, protocol: Protocol) -> tuple[EvaluationPoint, ...]:
        return (EvaluationPoint(self.short_name, self.words, protocol),)


def domains_of(pool: Pool) -> tuple[str, ...]:
    """The domains of a pool in the order of its datasets; packs without one are of the domain ""."""
    return tuple(dict.fromkeys(pack.domain or "" for pack in pool))


def pool_part(pool: Pool, point: EvaluationPoint) -> Pool:
    """The datasets that a point tests on."""
    if point.domain is None:
        return pool
    return Pool([pack for pack in pool if (pack.domain or "") == point.domain])

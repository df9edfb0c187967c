"""Tables of phases. What makes scores comparable lies in a version; the rest may change at any time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from anyshot_core.protocols.keys import draw_root
from anyshot_core.wire.worker_api import LogPolicy
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.states import (
    Audience,
    BoardShows,
    PhaseKind,
    RescoreMode,
    VersionState,
)
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.foundation.database import Base, Word, new_id, now
from anyshot_scoring.rules import Rule, find_rule


class EvaluationPool(Base):
    """The version of a pool that further evaluations of a phase test on, where they name a pool."""

    __tablename__ = "evaluation_pools"

    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"), primary_key=True)
    pool_version_id: Mapped[str] = mapped_column(ForeignKey("pool_versions.id"), primary_key=True)


class PhaseExtension(Base):
    """More time for one team: until when the phase takes its uploads."""

    __tablename__ = "phase_extensions"

    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"), primary_key=True)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"), primary_key=True)
    until: Mapped[datetime]


class Phase(Base):
    """A span of time with its own rules, quotas and boards."""

    __tablename__ = "phases"
    __table_args__ = (UniqueConstraint("competition_id", "slug"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"))
    slug: Mapped[str] = mapped_column(String(64))
    name: Mapped[str]
    description: Mapped[str] = mapped_column(Text, default="")
    position: Mapped[int] = mapped_column(default=0)
    kind: Mapped[PhaseKind] = mapped_column(Word(PhaseKind), default=PhaseKind.FEEDBACK)
    starts_at: Mapped[datetime]
    ends_at: Mapped[datetime | None]
    time_zone: Mapped[str] = mapped_column(String(64), default="UTC")
    grace_seconds: Mapped[float] = mapped_column(default=900.0)  # for uploads that began before the end
    late_until: Mapped[
        datetime | None
    ]  # after the end, submissions are taken until then that are never ranked
    show_late: Mapped[bool] = mapped_column(default=False)  # under the ranking
    paused_at: Mapped[datetime | None]
    closed_at: Mapped[datetime | None]  # by hand, before the end
    accepts_uploads: Mapped[bool] = mapped_column(default=True)
    live_version: Mapped[int] = mapped_column(default=1)

    quota_day: Mapped[int | None]  # None: unlimited; days are UTC
    quota_phase: Mapped[int | None]
    quota_concurrent: Mapped[int | None]
    cancelled_counts: Mapped[bool] = mapped_column(default=True)  # a cancelled submission costs quota
    priority: Mapped[int] = mapped_column(default=20)  # higher first: see queue.priorities

    board_shows: Mapped[BoardShows] = mapped_column(Word(BoardShows), default=BoardShows.LAST)
    ladder_step: Mapped[float] = mapped_column(default=0.01)  # where the board is a Ladder
    team_chooses: Mapped[bool] = mapped_column(default=False)  # which of its submissions counts
    board_audience: Mapped[Audience] = mapped_column(Word(Audience), default=Audience.EVERYONE)
    scores_visible: Mapped[bool] = mapped_column(default=True)  # to the submission's own team
    tasks_visible: Mapped[bool] = mapped_column(default=False)  # rows of single tasks while the phase is open
    log_policy: Mapped[LogPolicy] = mapped_column(Word(LogPolicy), default=LogPolicy.META_TRAIN)
    hide_dataset_names: Mapped[bool] = mapped_column(default=True)
    show_confusion: Mapped[bool] = mapped_column(default=False)
    evaluations: Mapped[str] = mapped_column(Text, default="")  # further ones, one a line; they rank nothing
    evaluations_visible: Mapped[bool] = mapped_column(default=True)  # where scores are
    frozen_at: Mapped[datetime | None]  # the board takes no new rows
    exports_visible: Mapped[bool] = mapped_column(default=False)  # where single tasks are
    needs_publishing: Mapped[bool] = mapped_column(default=False)  # organizers look first
    published_at: Mapped[datetime | None]
    key_published_at: Mapped[datetime | None]  # from then on everybody can draw the tasks again

    smoke_pool_version_id: Mapped[str | None] = mapped_column(ForeignKey("pool_versions.id"))
    smoke_tasks: Mapped[int] = mapped_column(default=5)
    smoke_seconds: Mapped[float] = mapped_column(default=120.0)
    smoke_quota_day: Mapped[int | None]

    gate_phase_id: Mapped[str | None] = mapped_column(ForeignKey("phases.id"))  # where entries come from
    launched_at: Mapped[
        datetime | None
    ]  # for the first time: what is uploaded later does not enter by itself
    created_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]

    @property
    def live(self) -> PhaseVersion:
        """The version whose scores count, among those that are loaded with the phase."""
        return next(version for version in self.versions if version.number == self.live_version)

    def __init__(self, **values: Any) -> None:
        super().__init__(**{**_QUOTAS, **values})

    competition: Mapped[Competition] = relationship()
    smoke_pool: Mapped[PoolVersion | None] = relationship()
    evaluation_pools: Mapped[list[PoolVersion]] = relationship(secondary=EvaluationPool.__table__)
    extensions: Mapped[list[PhaseExtension]] = relationship(cascade="all, delete-orphan")
    versions: Mapped[list[PhaseVersion]] = relationship(
        order_by="PhaseVersion.number", back_populates="phase", cascade="all, delete-orphan"
    )


# A column's own default would replace an explicit None, which means "unlimited" here, so the quotas of a phase that
# does not say are set when the object is made.
_QUOTAS: dict[str, Any] = {"quota_day": 2, "quota_phase": 100, "quota_concurrent": 2, "smoke_quota_day": 10}


class PhaseVersion(Base):
    """All that decides what a score is: data, tasks, seeds, budget, machine, rules."""

    __tablename__ = "phase_versions"
    __table_args__ = (UniqueConstraint("phase_id", "number"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"))
    number: Mapped[int] = mapped_column(default=1)
    state: Mapped[VersionState] = mapped_column(Word(VersionState), default=VersionState.LIVE)
    rescore_mode: Mapped[RescoreMode] = mapped_column(Word(RescoreMode), default=RescoreMode.NOTHING)
    reason: Mapped[str] = mapped_column(Text, default="")
    meta_train_pool_version_id: Mapped[str | None] = mapped_column(ForeignKey("pool_versions.id"))
    meta_test_pool_version_id: Mapped[str | None] = mapped_column(ForeignKey("pool_versions.id"))
    protocol: Mapped[dict[str, Any]] = mapped_column(default=dict)
    train_protocol: Mapped[dict[str, Any]] = mapped_column(default=dict)  # empty: as config.json asks
    validation_protocol: Mapped[dict[str, Any]] = mapped_column(default=dict)
    tasks: Mapped[int] = mapped_column(default=100)
    train_seeds: Mapped[list[int]] = mapped_column(
        default=list
    )  # one a seeded run; the code of a run sees its own
    root: Mapped[str] = mapped_column(
        String(64), default=lambda: draw_root().hex()
    )  # secret: see `judging.runs.secrets`
    test_seeds: Mapped[list[int]] = mapped_column(
        default=list
    )  # small ones that replace the root's for the tasks
    same_test_tasks: Mapped[bool] = mapped_column(default=False)  # all runs have the tasks of the first
    ranking_rule: Mapped[str] = mapped_column(String(64), default="worst_run")
    run_seconds: Mapped[float] = mapped_column(default=3600.0)
    meta_train_seconds: Mapped[float | None]
    task_seconds: Mapped[float | None]
    hardware_class: Mapped[str] = mapped_column(String(32), default="cpu")
    packages: Mapped[str] = mapped_column(Text, default="")  # one a line; `image` is named by them
    image: Mapped[str | None] = mapped_column(String(64))
    image_digest: Mapped[str | None] = mapped_column(String(71))  # pinned: no other image may be used
    memory_bytes: Mapped[int] = mapped_column(BigInteger, default=4 << 30)
    cpus: Mapped[float] = mapped_column(default=1.0)
    processes: Mapped[int] = mapped_column(default=512)
    scratch_bytes: Mapped[int] = mapped_column(BigInteger, default=2 << 30)
    output_bytes: Mapped[int] = mapped_column(BigInteger, default=64 << 20)
    gpus: Mapped[int] = mapped_column(default=0)
    isolated_tasks: Mapped[bool] = mapped_column(default=False)
    keep_learner: Mapped[bool] = mapped_column(default=False)
    snapshots: Mapped[int] = mapped_column(default=0)  # of training, exported
    features: Mapped[bool] = mapped_column(default=False)
    estimates: Mapped[bool] = mapped_column(default=False)
    probabilities: Mapped[bool] = mapped_column(default=False)
    shards: Mapped[int] = mapped_column(default=1)  # meta-test split over so many workers
    each_dataset: Mapped[bool] = mapped_column(default=False)  # a learner of its own for each dataset
    budget_each_dataset: Mapped[bool] = mapped_column(
        default=False
    )  # times are of a dataset, not shared by all
    created_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    live_at: Mapped[datetime | None]

    @property
    def runs_share_tasks(self) -> bool:
        """Whether each seeded run of a submission is tested on the tasks of the first, all datasets in one run."""
        return self.same_test_tasks and not self.each_dataset

    phase: Mapped[Phase] = relationship(back_populates="versions")
    meta_train: Mapped[PoolVersion | None] = relationship(foreign_keys=[meta_train_pool_version_id])
    meta_test: Mapped[PoolVersion | None] = relationship(foreign_keys=[meta_test_pool_version_id])

    @property
    def rule(self) -> Rule:
        """The ranking rule: it decides which runs count, the score, the order and the words."""
        return find_rule(self.ranking_rule)

    @property
    def seeded_runs(self) -> int:
        """How many runs make one score."""
        return len(self.train_seeds)

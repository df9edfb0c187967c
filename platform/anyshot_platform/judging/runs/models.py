"""Tables of runs and their attempts."""

from datetime import datetime

from sqlalchemy import BigInteger, ColumnElement, ForeignKey, Index, String, Text, UniqueConstraint, and_, or_
from sqlalchemy.orm import Mapped, mapped_column, relationship

from anyshot_core.wire.evidence import Evidence
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import Provenance, Usage
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.database import Base, TypedJson, Word, new_id, now
from anyshot_platform.judging.runs.records import ExpectedStart, OwnSeeds, StageTimes
from anyshot_platform.judging.runs.states import RunKind, RunState
from anyshot_platform.judging.submissions.models import Submission


class Run(Base):
    """One evaluation: a submission under a phase version with one pair of seeds, or a shard of it.

    `state` is written by `judging.runs.transitions.write_state` alone. While a run is running it has a lease;
    everything its worker sends carries `epoch`, which each claim increments.
    """

    __tablename__ = "runs"
    __table_args__ = (
        Index("ix_runs_claim", "hardware_class", "state", "priority", "queued_at"),
        Index("ix_runs_turn", "hardware_class", "state", "competition_id", "priority", "queued_at"),
        Index("ix_runs_competition_id_claimed_at", "competition_id", "claimed_at"),
        Index("ix_runs_state_lease", "state", "lease_expires_at"),
        Index("ix_runs_submission_id_phase_version_id", "submission_id", "phase_version_id"),
        Index("ix_runs_team_id_state", "team_id", "state"),
        Index("ix_runs_finished_at", "finished_at"),
        Index("ix_runs_verdict", "verdict"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    kind: Mapped[RunKind] = mapped_column(Word(RunKind))
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"))
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"))
    phase_version_id: Mapped[str] = mapped_column(ForeignKey("phase_versions.id"), index=True)
    submission_id: Mapped[str | None] = mapped_column(ForeignKey("submissions.id"))
    team_id: Mapped[str | None] = mapped_column(ForeignKey("teams.id"))  # whom fair share counts it for
    requested_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    own_seeds: Mapped[OwnSeeds | None] = mapped_column(
        "parameters", TypedJson(OwnSeeds), nullable=False
    )  # of a run that measures a gate

    seed_index: Mapped[int] = mapped_column(default=0)
    shard_index: Mapped[int | None]
    shard_count: Mapped[int] = mapped_column(default=1)
    generation: Mapped[int] = mapped_column(default=0)  # re-runs: the highest one counts
    source_run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id"))  # whose learner or predictions

    state: Mapped[RunState] = mapped_column(Word(RunState), default=RunState.QUEUED)
    epoch: Mapped[int] = mapped_column(default=0)
    attempt: Mapped[int] = mapped_column(default=0)
    priority: Mapped[int] = mapped_column(default=20)
    bulk: Mapped[bool] = mapped_column(default=False)
    hardware_class: Mapped[str] = mapped_column(String(32), default="cpu")
    image: Mapped[str | None] = mapped_column(String(64))
    image_digest: Mapped[str | None] = mapped_column(String(71))
    memory_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    gpus: Mapped[int] = mapped_column(default=0)
    queued_at: Mapped[datetime] = mapped_column(default=now)
    available_at: Mapped[datetime] = mapped_column(default=now)  # back-off: not before this
    expected_start: Mapped[ExpectedStart | None] = mapped_column(
        TypedJson(ExpectedStart), nullable=False
    )  # while it is queued: of `running.capacity.expecting`
    rung_at: Mapped[datetime | None]
    worker_id: Mapped[str | None] = mapped_column(ForeignKey("workers.id"), index=True)
    lease_expires_at: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]
    cancelled_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))

    infrastructure_failures: Mapped[int] = mapped_column(default=0)
    unclear_failures: Mapped[int] = mapped_column(default=0)
    workers_lost: Mapped[int] = mapped_column(default=0)
    quarantined: Mapped[bool] = mapped_column(default=False)

    created_at: Mapped[datetime] = mapped_column(default=now)
    claimed_at: Mapped[datetime | None]
    stage_times: Mapped[StageTimes | None] = mapped_column(TypedJson(StageTimes), nullable=False)
    finished_at: Mapped[datetime | None]
    tasks_done: Mapped[int] = mapped_column(default=0)
    tasks_total: Mapped[int] = mapped_column(default=0)
    seconds_used: Mapped[float] = mapped_column(default=0.0)
    progress_message: Mapped[str] = mapped_column(Text, default="")

    verdict: Mapped[Verdict | None] = mapped_column(Word(Verdict))
    cause: Mapped[Cause | None] = mapped_column(Word(Cause))
    message: Mapped[str] = mapped_column(Text, default="")
    detail: Mapped[str] = mapped_column(Text, default="")  # the participant may see it
    private: Mapped[str] = mapped_column(Text, default="")  # operators only
    before_training: Mapped[bool] = mapped_column(
        default=False
    )  # its code failed before a first training step
    task_index: Mapped[int | None]
    task_ways: Mapped[int | None]
    task_shots: Mapped[int | None]
    usage: Mapped[Usage | None] = mapped_column(TypedJson(Usage), nullable=False)
    provenance: Mapped[Provenance | None] = mapped_column(TypedJson(Provenance), nullable=False)
    evidence: Mapped[Evidence | None] = mapped_column(TypedJson(Evidence), nullable=False)

    submission: Mapped[Submission | None] = relationship()
    phase_version: Mapped[PhaseVersion] = relationship()

    @property
    def used(self) -> Usage:
        """What it used; nothing while it is not known."""
        return self.usage or Usage()

    @property
    def times(self) -> StageTimes:
        """When each stage of its last attempt began."""
        return self.stage_times or StageTimes()


# The order of a queue within a competition; `scheduling` lets teams and competitions take turns in it.
QUEUE_ORDER = (Run.priority.desc(), Run.queued_at, Run.id)


def goes_before(run: Run) -> ColumnElement[bool]:
    """That a run stands before this one, by `QUEUE_ORDER`; of the same moment neither does."""
    return or_(Run.priority > run.priority, and_(Run.priority == run.priority, Run.queued_at < run.queued_at))


class RunCheckpoint(Base):
    """A file from which the next attempt of a run may go on, with answers to tasks `first` to `stop` - 1, if any."""

    __tablename__ = "checkpoints"
    __table_args__ = (UniqueConstraint("run_id", "epoch", "name"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"))
    epoch: Mapped[int]
    name: Mapped[str] = mapped_column(String(64))
    first: Mapped[int]
    stop: Mapped[int]
    digest: Mapped[str] = mapped_column(ForeignKey("blobs.digest"), index=True)
    size: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Attempt(Base):
    """One claim of a run, from claim to end; kept for the record."""

    __tablename__ = "attempts"
    __table_args__ = (UniqueConstraint("run_id", "epoch"), Index("ix_attempts_outcome", "outcome"))

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"))
    epoch: Mapped[int]
    number: Mapped[int]
    worker_id: Mapped[str] = mapped_column(ForeignKey("workers.id"), index=True)
    worker_name: Mapped[str]
    claimed_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]
    outcome: Mapped[str] = mapped_column(String(32), default="")  # a verdict, "released" or "lease_lost"
    message: Mapped[str] = mapped_column(Text, default="")
    private: Mapped[str] = mapped_column(Text, default="")

"""What every kind of run has to say of itself: how it is planned, sent, taken over and called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.wire.jobs import Job, PackRef
from anyshot_core.wire.worker_api import Complete, Usage, WorkerInfo
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pack, PoolPack
from anyshot_platform.foundation.artifacts.service import blob_ref
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.planning import Urgency, demands
from anyshot_platform.judging.runs.states import RunKind, RunState
from anyshot_platform.judging.submissions.models import Submission


class NotAssignable(PlatformError):
    """The organizers' settings lack something that this run needs: ends it as BAD_SETTINGS."""

    status = 500
    code = "not_assignable"


@dataclass(frozen=True)
class Case:
    """A claimed run with what its job is made from."""

    services: Services
    session: Session
    run: Run
    version: PhaseVersion
    phase: Phase

    def packs(self, pool_version_id: str | None) -> list[PackRef]:
        """The packs of a version of a pool, in their order; none of no pool."""
        rows = self.session.scalars(
            select(Pack)
            .join(PoolPack, PoolPack.pack_id == Pack.id)
            .where(PoolPack.pool_version_id == pool_version_id)
            .order_by(PoolPack.position)
        )
        return [
            PackRef(name=row.name, domain=row.domain, blob=blob_ref(self.services, row.digest, row.size))
            for row in rows
        ]


@dataclass(frozen=True)
class Planning:
    """What runs are planned from; `seeds` is the number of pairs of seeds, None for what is usual."""

    session: Session
    submission: Submission
    version: PhaseVersion
    urgency: Urgency
    generation: int = 0
    seeds: int | None = None

    def run(self, kind: Kind, **more: Any) -> Run:
        """A run of the submission under the version, not queued yet."""
        moment, submission = now(), self.submission
        return Run(
            kind=kind.name,
            competition_id=submission.competition_id,
            phase_id=submission.phase_id,
            phase_version_id=self.version.id,
            submission_id=submission.id,
            team_id=submission.team_id,
            priority=self.urgency.priority,
            bulk=self.urgency.bulk,
            generation=self.generation,
            **{"state": RunState.QUEUED, "requested_by": submission.user_id, **more},
            **demands(self.version),
            created_at=moment,
            queued_at=moment,
            available_at=moment,
        )


class Kind(ABC):
    """What runs are for. One object a kind: whoever needs to know something of it asks the object."""

    name: ClassVar[RunKind]
    title: ClassVar[str]  # what a person calls such a run
    artifacts: ClassVar[frozenset[str]]  # the files that its worker may hand in, by their names
    counts: ClassVar[bool] = False  # whether the score of a submission, for boards, is made of it
    resumes: ClassVar[bool] = False  # whether its next attempt goes on from checkpoints
    opens_zip: ClassVar[bool] = False  # whether its worker inspects the zip
    counts_steps: ClassVar[bool] = (
        False  # whether its worker says how many steps there are; else tasks are planned
    )
    keeps_late_result: ClassVar[bool] = (
        False  # whether a result counts that crossed a cancellation on its way
    )

    @abstractmethod
    def job(self, case: Case) -> Job:
        """What its worker is sent; raises `NotAssignable`."""

    @abstractmethod
    def accept(self, session: Session, storage: Storage, run: Run, result: Complete) -> None:
        """Take over what a worker found; raises `WrongResult` where that cannot be true."""

    def tasks(self, run: Run) -> int:
        """How many tasks or steps a run has done when it is finished."""
        return run.tasks_done if self.counts_steps else run.tasks_total

    def starts(self, submission: Submission) -> bool:
        """Whether a submission is evaluated by runs of this kind, at first."""
        return False

    def plan(self, planning: Planning) -> list[Run]:
        """The runs of a submission, not queued yet; of kinds that start one."""
        raise NotImplementedError(f"no submission starts with a run of the kind {self.name}")

    def fits(self, worker: WorkerInfo) -> bool:
        """Whether a worker can do such work at all."""
        return True

    def by_dataset(self, run: Run) -> bool:
        """Whether a run is the part of one dataset, with a learner of its own."""
        return False

    def seconds(self, run: Run) -> float:
        """Seconds of the participant's own time that a run may use; shards have theirs in common."""
        return run.phase_version.run_seconds

    def training_seconds(self, run: Run) -> float | None:
        """The limit on meta-training within these seconds, where there is one."""
        return None

    def training_protocols(self, version: PhaseVersion) -> dict[str, dict[str, Any]]:
        """What is trained and validated on, by the names of a job's fields, where the phase says it."""
        return {}

    def usage(self, session: Session, run: Run, told: Usage) -> Usage:
        """What the participant's code used, by what the worker told."""
        return told

    def called(self, run: Run, parts: str) -> str:
        """What a page calls one run of several; `parts` says which part of a seeded run it is, or nothing."""
        return parts.capitalize()


def common_fields(case: Case, tasks: int) -> dict[str, Any]:
    """What every job says."""
    run = case.run
    return {
        "run_id": run.id,
        "epoch": run.epoch,
        "attempt": run.attempt,
        "lease_seconds": case.services.settings.lease_seconds,
        "competition": case.session.get_one(Competition, run.competition_id).slug,
        "phase": case.phase.slug,
        "tasks": tasks,
    }

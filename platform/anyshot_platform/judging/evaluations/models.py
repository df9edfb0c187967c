"""The table of further evaluations: one row for each test of a submission's learner."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from anyshot_core.wire.worker_api import PartFailure
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.database import Base, TypedJson, new_id, now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED
from anyshot_platform.judging.submissions.models import Submission
from anyshot_scoring.summary import RunSummary


class FurtherTest(Base):
    """One point of an evaluation, of one submission with one pair of its seeds.

    The points of an evaluation that are tested together have one run, in the order of `place`. The run is of no
    submission, as far as status, quota and settlement go: it can neither change a score nor hold one up. `digest` is of
    all that decides a test's tasks but the seed: other settings or another pool make another test.
    """

    __tablename__ = "further_tests"
    __table_args__ = (
        Index("ix_further_tests_place", "phase_version_id", "submission_id", "digest", "seed_index"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), index=True)
    phase_version_id: Mapped[str] = mapped_column(ForeignKey("phase_versions.id"))
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"), index=True)
    evaluation: Mapped[str] = mapped_column(String(40))  # its short name, which its tasks are drawn by
    place: Mapped[int]  # among the tests of its run
    seed_index: Mapped[int]
    digest: Mapped[str] = mapped_column(String(64))
    protocol: Mapped[dict[str, Any]] = mapped_column(default=dict)  # without the split, which is the phase's
    pool_version_id: Mapped[str] = mapped_column(ForeignKey("pool_versions.id"))
    domain: Mapped[str | None]  # of the pool's datasets; all without one
    summary: Mapped[RunSummary | None] = mapped_column(TypedJson(RunSummary), nullable=False)
    created_at: Mapped[datetime] = mapped_column(default=now)
    scored_at: Mapped[datetime | None]
    failure: Mapped[PartFailure | None] = mapped_column(
        TypedJson(PartFailure), nullable=False
    )  # where it failed and others of its run did not

    run: Mapped[Run] = relationship()
    submission: Mapped[Submission] = relationship()
    phase_version: Mapped[PhaseVersion] = relationship()

    @property
    def failed(self) -> bool:
        """Whether it has ended without a score: its run did not finish, or finished without this test."""
        return self.run.state in ENDED and self.summary is None

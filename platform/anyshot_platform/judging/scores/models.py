"""Tables of scores: one a run, and one a submission and phase version that its ranking rule makes of them."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, TypedJson, new_id, now
from anyshot_scoring.summary import RunSummary


class RunScore(Base):
    """The result of a finished run; the unique run makes completing twice harmless."""

    __tablename__ = "run_scores"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    submission_id: Mapped[str | None] = mapped_column(ForeignKey("submissions.id"), index=True)
    phase_version_id: Mapped[str] = mapped_column(ForeignKey("phase_versions.id"), index=True)
    seed_index: Mapped[int]
    value: Mapped[float]
    half_width: Mapped[float | None]
    tasks: Mapped[int]
    summary: Mapped[RunSummary] = mapped_column(TypedJson(RunSummary))
    created_at: Mapped[datetime] = mapped_column(default=now)


class SubmissionScore(Base):
    """What a submission scores under a phase version, once all its seeded runs are finished."""

    __tablename__ = "submission_scores"
    __table_args__ = (
        Index("ix_submission_scores_team", "phase_version_id", "team_id", "submitted_at"),
        Index("ix_submission_scores_value", "phase_version_id", "value"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), index=True)
    phase_version_id: Mapped[str] = mapped_column(ForeignKey("phase_versions.id"))
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"))
    submitted_at: Mapped[datetime]
    value: Mapped[float]
    half_width: Mapped[float | None]
    tasks: Mapped[int]
    runs: Mapped[int]
    seconds: Mapped[float] = mapped_column(default=0.0)  # participant's time, summed over the runs
    by_dataset: Mapped[dict[str, float]] = mapped_column(
        default=dict
    )  # name → value, joined by the ranking rule
    created_at: Mapped[datetime] = mapped_column(default=now)

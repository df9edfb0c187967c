"""The table of reports that organizers asked for."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from anyshot_core.wire.reports import ReportParameters, ReportSummary
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import Base, TypedJson, new_id, now
from anyshot_platform.judging.reports.records import ReportInputs
from anyshot_platform.judging.runs.models import Run


class Report(Base):
    """One report on a phase's board or pools. What it is computed from is settled when it is asked for."""

    __tablename__ = "reports"
    __table_args__ = (
        Index("ix_reports_competition_id_created_at", "competition_id", "created_at"),
        Index("ix_reports_digest", "digest"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"))
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"))
    phase_version_id: Mapped[str] = mapped_column(ForeignKey("phase_versions.id"))
    league_id: Mapped[str | None] = mapped_column(ForeignKey("leagues.id"))  # of a board
    analysis: Mapped[str] = mapped_column(String(32))
    parameters: Mapped[ReportParameters] = mapped_column(TypedJson(ReportParameters))
    results: Mapped[ReportInputs | None] = mapped_column(TypedJson(ReportInputs), nullable=False)
    answer: Mapped[ReportSummary | None] = mapped_column(TypedJson(ReportSummary), nullable=False)
    digest: Mapped[str] = mapped_column(
        String(64)
    )  # of all that the report follows from: the key of the cache
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"), unique=True)
    requested_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]

    run: Mapped[Run] = relationship()
    phase: Mapped[Phase] = relationship()

"""Tables of leaderboards: the rows of each, and every change of one.

A board has one row a team, replaced in place when a score arrives, and found in order by an index; ranks are counted
when they are read. So one new score costs the same with a hundred submissions and with a hundred thousand.
"""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, new_id, now


class BoardRow(Base):
    """A team's (or a baseline's) row on a league's board under one phase version."""

    __tablename__ = "board_rows"
    __table_args__ = (
        UniqueConstraint("phase_version_id", "league_id", "row_key"),
        Index("ix_board_rows_order", "phase_version_id", "league_id", "ranked", "sort_value", "submitted_at"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    phase_version_id: Mapped[str] = mapped_column(ForeignKey("phase_versions.id"))
    league_id: Mapped[str] = mapped_column(ForeignKey("leagues.id"))
    row_key: Mapped[str] = mapped_column(String(32))  # team id; submission id of a baseline
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"), index=True)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), index=True)
    submission_score_id: Mapped[str] = mapped_column(ForeignKey("submission_scores.id"))
    ranked: Mapped[bool] = mapped_column(default=True)  # False: baselines, organizers
    sort_value: Mapped[float]  # what its rule ranks by; ascending order is rank order
    value: Mapped[float]
    half_width: Mapped[float | None]
    tasks: Mapped[int]
    runs: Mapped[int]
    seconds: Mapped[float] = mapped_column(default=0.0)
    by_dataset: Mapped[dict[str, float]] = mapped_column(default=dict)
    submitted_at: Mapped[datetime]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class BoardChange(Base):
    """The history of a board: each value that a team's row took."""

    __tablename__ = "board_changes"
    __table_args__ = (Index("ix_board_changes_at", "phase_version_id", "league_id", "at"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    phase_version_id: Mapped[str] = mapped_column(ForeignKey("phase_versions.id"))
    league_id: Mapped[str] = mapped_column(ForeignKey("leagues.id"))
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"))
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"))
    value: Mapped[float | None]  # None: the row went
    at: Mapped[datetime] = mapped_column(default=now)

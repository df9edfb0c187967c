"""Tables of leagues and of the submissions in them."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_core.wire.evidence import Evidence
from anyshot_platform.contest.leagues.states import Admission, AwardSplit, EntryStatus
from anyshot_platform.foundation.database import Base, TypedJson, Word, new_id, now


class League(Base):
    """A board of its own within each phase of a competition, with prizes and a gate."""

    __tablename__ = "leagues"
    __table_args__ = (UniqueConstraint("competition_id", "slug"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"))
    slug: Mapped[str] = mapped_column(String(64))
    name: Mapped[str]
    description: Mapped[str] = mapped_column(Text, default="")
    prizes: Mapped[str] = mapped_column(Text, default="")  # in words, beside the amounts
    awards: Mapped[list[Any]] = mapped_column(default=list)  # amounts, the first place's first
    currency: Mapped[str] = mapped_column(String(8), default="EUR")
    award_split: Mapped[AwardSplit] = mapped_column(Word(AwardSplit), default=AwardSplit.EQUALLY)
    position: Mapped[int] = mapped_column(default=0)
    admission: Mapped[Admission] = mapped_column(Word(Admission), default=Admission.ALL)
    every_member_qualifies: Mapped[bool] = mapped_column(default=False)
    questions: Mapped[list[Any]] = mapped_column(default=list)  # that members answer: key, label, answer, ...
    closed_to_newcomers: Mapped[bool] = mapped_column(default=False)  # teams without an entry cannot get one
    opens_at: Mapped[datetime | None]  # None: with the competition
    quota_day: Mapped[int | None]  # entries into this league; beside the phase's quota
    quota_phase: Mapped[int | None]
    columns: Mapped[list[Any]] = mapped_column(
        default=list
    )  # further ones of its boards: metric, title, decimals
    deleted_at: Mapped[datetime | None]


class LeagueEntry(Base):
    """A submission in a league."""

    __tablename__ = "league_entries"

    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    league_id: Mapped[str] = mapped_column(ForeignKey("leagues.id"), primary_key=True, index=True)
    status: Mapped[EntryStatus] = mapped_column(Word(EntryStatus), default=EntryStatus.ADMITTED)
    evidence: Mapped[Evidence | None] = mapped_column(TypedJson(Evidence), nullable=False)
    reason: Mapped[str] = mapped_column(Text, default="")
    decided_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    decided_at: Mapped[datetime | None]


class Gate(Base):
    """The score above which a league's entries may go on from a phase."""

    __tablename__ = "gates"
    __table_args__ = (UniqueConstraint("phase_id", "league_id"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"))
    league_id: Mapped[str] = mapped_column(ForeignKey("leagues.id"))
    score: Mapped[float]
    note: Mapped[str] = mapped_column(Text, default="")
    set_at: Mapped[datetime] = mapped_column(default=now)

"""Tables of published results, and of identity checks: who the members of winning teams are."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, Word, new_id, now
from anyshot_platform.standings.results.states import IdentityCheck


class PublishedResults(Base):
    """The results of a phase as they were published, or corrected since; the newest version is what everybody sees."""

    __tablename__ = "published_results"
    __table_args__ = (UniqueConstraint("phase_id", "number"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"))
    number: Mapped[int]  # from 1
    leagues: Mapped[list[Any]] = mapped_column(default=list)  # see `records`
    reason: Mapped[str] = mapped_column(Text, default="")  # why this version took the place of the one before
    written_at: Mapped[datetime] = mapped_column(default=now)


class WinnerCheck(Base):
    """What organizers found about one person who wins something in a phase; goes with the account."""

    __tablename__ = "winner_checks"
    __table_args__ = (UniqueConstraint("phase_id", "user_id"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"))
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    outcome: Mapped[IdentityCheck] = mapped_column(Word(IdentityCheck))
    reason: Mapped[str] = mapped_column(Text)  # how it was checked, or why it failed
    decided_by: Mapped[str] = mapped_column(ForeignKey("users.id"))
    decided_at: Mapped[datetime] = mapped_column(default=now)

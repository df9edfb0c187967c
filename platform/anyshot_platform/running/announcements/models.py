"""Tables of what is announced to participants: by organizers, and of phases by the clock."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, Word, new_id, now


class Date(StrEnum):
    """A date of a phase that its members are told of."""

    OPENING = "opening"  # once it is open
    CLOSING = "closing"  # a day before


class Announcement(Base):
    """What organizers tell all participants, on the page and by e-mail."""

    __tablename__ = "announcements"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"), index=True)
    title: Mapped[str]
    body: Mapped[str] = mapped_column(Text, default="")
    created_by: Mapped[str] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    edited_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]


class PhaseNotice(Base):
    """That members were told of a date of a phase, and which date it was then."""

    __tablename__ = "phase_notices"

    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"), primary_key=True)
    date: Mapped[Date] = mapped_column(Word(Date), primary_key=True)
    moment: Mapped[datetime]

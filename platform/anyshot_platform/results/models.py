"""The table of identity checks: who the members of winning teams are."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.database import Base, Word, new_id, now
from anyshot_platform.results.states import IdentityCheck


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

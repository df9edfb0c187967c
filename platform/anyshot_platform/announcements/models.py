"""The table of what organizers announced to their participants."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.database import Base, new_id, now


class Announcement(Base):
    """What organizers tell all participants, on the page and by e-mail."""

    __tablename__ = "announcements"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"), index=True)
    title: Mapped[str]
    body: Mapped[str] = mapped_column(Text, default="")
    emailed: Mapped[bool] = mapped_column(default=False)
    created_by: Mapped[str] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]

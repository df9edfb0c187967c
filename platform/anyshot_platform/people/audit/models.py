"""Table of the audit log; triggers in the database refuse to change or delete its rows."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, now


class AuditEntry(Base):
    """Who did what to which object, and why. Holds no personal data: the actor is a reference."""

    __tablename__ = "audit_entries"
    __table_args__ = (
        Index("ix_audit_entries_competition_id_at", "competition_id", "at"),
        Index("ix_audit_entries_object_type_object_id", "object_type", "object_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    at: Mapped[datetime] = mapped_column(default=now)
    actor_id: Mapped[str | None] = mapped_column(ForeignKey("users.id"), index=True)  # None: the platform
    competition_id: Mapped[str | None] = mapped_column(ForeignKey("competitions.id"))
    action: Mapped[str] = mapped_column(String(64))  # e.g. "submission.disqualify"
    object_type: Mapped[str] = mapped_column(String(32))
    object_id: Mapped[str] = mapped_column(String(64))
    reason: Mapped[str] = mapped_column(Text, default="")
    before: Mapped[dict[str, Any]] = mapped_column(default=dict)
    after: Mapped[dict[str, Any]] = mapped_column(default=dict)

"""The table of what operators are alerted to."""

from datetime import datetime

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, new_id, now


class Alert(Base):
    """A condition that operators must know of; open until it is over."""

    __tablename__ = "alerts"
    __table_args__ = (Index("ix_alerts_kind_subject_until", "kind", "subject", "until"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    kind: Mapped[str] = mapped_column(String(32))  # such as queue_stalled, no_workers, run_lost
    subject: Mapped[str] = mapped_column(String(64), default="")  # hardware class, worker or run
    message: Mapped[str] = mapped_column(Text)
    since: Mapped[datetime] = mapped_column(default=now)
    until: Mapped[datetime | None]
    told_at: Mapped[datetime | None]
    posted_at: Mapped[datetime | None]  # to the address in the settings

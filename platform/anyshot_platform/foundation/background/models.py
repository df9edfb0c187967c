"""Tables of what has to happen after a commit."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, now


class OutboxRing(Base):
    """A doorbell to ring: written in the transaction that queues a run, sent after its commit."""

    __tablename__ = "outbox_rings"
    __table_args__ = (Index("ix_outbox_rings_due", "sent_at", "due_at"),)

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    )
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"), index=True)
    hardware_class: Mapped[str] = mapped_column(String(32))
    created_at: Mapped[datetime] = mapped_column(default=now)
    due_at: Mapped[datetime] = mapped_column(default=now)
    sent_at: Mapped[datetime | None]


class Sweep(Base):
    """The sweeper's own lease and last round, one row a duty: several may run, one sweeps."""

    __tablename__ = "sweeps"

    duty: Mapped[str] = mapped_column(String(32), primary_key=True)
    holder: Mapped[str] = mapped_column(String(64), default="")
    until: Mapped[datetime]
    last_at: Mapped[datetime | None]


class LoopRound(Base):
    """The last round of a background thread of a process."""

    __tablename__ = "loops"

    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    process: Mapped[str] = mapped_column(String(64), primary_key=True)  # HOST:PID
    last_at: Mapped[datetime]
    failures: Mapped[int] = mapped_column(default=0)  # rounds that raised since the process began
    error: Mapped[str] = mapped_column(Text, default="")  # of the last of them


class Trouble(Base):
    """A row that a background duty could not work on: how often, why, and when it is tried again."""

    __tablename__ = "troubles"

    duty: Mapped[str] = mapped_column(String(32), primary_key=True)
    subject: Mapped[str] = mapped_column(String(64), primary_key=True)
    attempts: Mapped[int] = mapped_column(default=0)
    error: Mapped[str] = mapped_column(Text, default="")
    next_at: Mapped[datetime] = mapped_column(default=now)
    set_aside_at: Mapped[datetime | None]  # it is not tried again before someone says so

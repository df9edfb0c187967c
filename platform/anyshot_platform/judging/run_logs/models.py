"""Tables of the log lines of runs, and of how many there are."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_core.wire.worker_api import Series, Stage
from anyshot_platform.foundation.database import Base, Word


class RunEvent(Base):
    """A line of a run's log; `id` orders all lines and is what a browser resumes from."""

    __tablename__ = "run_events"
    __table_args__ = (
        UniqueConstraint("run_id", "epoch", "seq"),
        Index("ix_run_events_run_id_id", "run_id", "id"),
    )

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    )
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"))
    epoch: Mapped[int]
    seq: Mapped[int]
    at: Mapped[datetime]
    stream: Mapped[str] = mapped_column(String(16))
    stage: Mapped[Stage] = mapped_column(Word(Stage))
    text: Mapped[str] = mapped_column(Text)


class EventCount(Base):
    """How much of an attempt's log is kept, so that the cap needs no counting."""

    __tablename__ = "event_counts"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)
    lines: Mapped[int] = mapped_column(default=0)
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    dropped: Mapped[int] = mapped_column(default=0)  # by the platform
    left_out: Mapped[int] = mapped_column(BigInteger, default=0)  # by the worker, which said so


class RunMeasure(Base):
    """A stretch of an attempt: what it used, or what its logger said. Fields as in `wire.worker_api.Measure`."""

    __tablename__ = "run_measures"
    __table_args__ = (
        UniqueConstraint("run_id", "epoch", "seq"),
        Index("ix_run_measures_run_id_id", "run_id", "id"),
    )

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    )
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"))
    epoch: Mapped[int]
    seq: Mapped[int]
    series: Mapped[Series] = mapped_column(Word(Series))
    stage: Mapped[Stage] = mapped_column(Word(Stage))
    seconds: Mapped[float]
    width: Mapped[float]
    cpu_cores: Mapped[float | None]
    memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    gpu_share: Mapped[float | None]
    gpu_memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    step: Mapped[int] = mapped_column(default=0)
    rows: Mapped[int] = mapped_column(default=0)
    loss: Mapped[float | None]
    accuracy: Mapped[float | None]
    normalized_accuracy: Mapped[float | None]

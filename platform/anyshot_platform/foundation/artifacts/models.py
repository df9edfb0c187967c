"""Tables of stored files: bytes by digest, and whose they are."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, new_id, now


class Blob(Base):
    """A file in the storage, known by the sha-256 of its content."""

    __tablename__ = "blobs"
    __table_args__ = (Index("ix_blobs_created_at", "created_at"),)

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(default=now)
    touched_at: Mapped[datetime] = mapped_column(default=now)  # last time somebody stored the same content


class Artifact(Base):
    """A file that an attempt of a run left."""

    __tablename__ = "artifacts"
    __table_args__ = (UniqueConstraint("run_id", "epoch", "name"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"))
    epoch: Mapped[int]
    name: Mapped[str] = mapped_column(String(64))
    digest: Mapped[str] = mapped_column(ForeignKey("blobs.digest"), index=True)
    size: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(default=now)
    final: Mapped[bool] = mapped_column(
        default=False
    )  # of the last attempt that ended, named by its final word
    expired_at: Mapped[datetime | None]  # removed by the retention policy

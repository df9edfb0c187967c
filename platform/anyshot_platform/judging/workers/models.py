"""Tables of workers, of machines that ask to become one, and of the images that operators offer."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_core.wire.worker_api import WorkerInfo
from anyshot_platform.foundation.database import Base, TypedJson, new_id, now


class WorkerToken(Base):
    """What a machine proves itself with; shown once, kept as a digest."""

    __tablename__ = "worker_tokens"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    name: Mapped[str]
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    created_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime | None]
    hardware_class: Mapped[str | None] = mapped_column(String(64))  # None: any
    competition_id: Mapped[str | None] = mapped_column(ForeignKey("competitions.id"))  # None: of all
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class WorkerRequest(Base):
    """A machine that asks to become a worker, until its codes are over."""

    __tablename__ = "worker_requests"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    device_digest: Mapped[str] = mapped_column(String(64), unique=True)
    user_code: Mapped[str] = mapped_column(String(8), unique=True)
    info: Mapped[WorkerInfo] = mapped_column(TypedJson(WorkerInfo))
    interval: Mapped[int]  # seconds that the machine waits before it asks again
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    asked_at: Mapped[datetime | None]  # for its token, last
    token_id: Mapped[str | None] = mapped_column(ForeignKey("worker_tokens.id"))  # once it was let in
    collected_at: Mapped[datetime | None]

    @property
    def code(self) -> str:
        """The user code as people read it."""
        return f"{self.user_code[:4]}-{self.user_code[4:]}"


class Worker(Base):
    """A worker process that announced itself."""

    __tablename__ = "workers"
    __table_args__ = (UniqueConstraint("token_id", "name"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    token_id: Mapped[str] = mapped_column(ForeignKey("worker_tokens.id"))
    name: Mapped[str]
    hardware_class: Mapped[str] = mapped_column(String(32), default="cpu")
    info: Mapped[WorkerInfo | None] = mapped_column(TypedJson(WorkerInfo), nullable=False)
    last_seen_at: Mapped[datetime] = mapped_column(default=now, index=True)
    draining: Mapped[bool] = mapped_column(default=False)  # finishes what it has, takes nothing new
    stopped_at: Mapped[datetime | None]  # it said goodbye
    paused_at: Mapped[datetime | None]  # by an operator: gets nothing


class Image(Base):
    """A sandbox image that phases may ask for."""

    __tablename__ = "images"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    description: Mapped[str] = mapped_column(Text, default="")
    enabled: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime] = mapped_column(default=now)

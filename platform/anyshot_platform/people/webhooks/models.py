"""Tables of webhooks and their deliveries."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, new_id, now


class Webhook(Base):
    """An address that events of a competition (or, without one, of the site) are posted to.

    The signing secret follows from the site's key, the id and `secret_version`, so it lies in no table.
    """

    __tablename__ = "webhooks"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str | None] = mapped_column(ForeignKey("competitions.id"), index=True)
    url: Mapped[str] = mapped_column(String(2000))
    events: Mapped[list[str]] = mapped_column(default=list)  # empty: all
    secret_version: Mapped[int] = mapped_column(default=1)
    active: Mapped[bool] = mapped_column(default=True)
    created_by: Mapped[str] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]


class WebhookDelivery(Base):
    """One message to one address, retried with back-off until it arrives or is given up."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (Index("ix_webhook_deliveries_due", "ended_at", "next_at"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    webhook_id: Mapped[str] = mapped_column(ForeignKey("webhooks.id"), index=True)
    event: Mapped[str] = mapped_column(String(64))
    payload: Mapped[dict[str, Any]]
    attempts: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]
    delivered: Mapped[bool] = mapped_column(default=False)
    status: Mapped[int | None]  # of the last answer
    error: Mapped[str] = mapped_column(Text, default="")
    created_at: Mapped[datetime] = mapped_column(default=now)

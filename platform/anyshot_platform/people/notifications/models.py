"""Tables of notifications and e-mails."""

from datetime import datetime

from sqlalchemy import JSON, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, new_id, now


class Notification(Base):
    """A message to a user, shown on the page."""

    __tablename__ = "notifications"
    __table_args__ = (Index("ix_notifications_user_id_created_at", "user_id", "created_at"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    kind: Mapped[str] = mapped_column(String(64))
    title: Mapped[str]
    body: Mapped[str] = mapped_column(Text, default="")
    url: Mapped[str] = mapped_column(String(500), default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    read_at: Mapped[datetime | None]


class NotificationChoice(Base):
    """What a user wants of a kind of message; without a row, both page and e-mail."""

    __tablename__ = "notification_choices"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(64), primary_key=True)
    page: Mapped[bool] = mapped_column(default=True)
    email: Mapped[bool] = mapped_column(default=True)


class Mute(Base):
    """A competition of which a user wants to hear nothing."""

    __tablename__ = "notification_mutes"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), primary_key=True)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"), primary_key=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Email(Base):
    """An e-mail, written with the change that causes it and sent after the commit."""

    __tablename__ = "emails"
    __table_args__ = (Index("ix_emails_due", "ended_at", "next_at"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    to: Mapped[str] = mapped_column(String(320))
    subject: Mapped[str]
    body: Mapped[str] = mapped_column(Text)
    # By its mark in the body: the submission of which something is said when the e-mail goes out.
    said_late: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    created_at: Mapped[datetime] = mapped_column(default=now)
    attempts: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]
    sent: Mapped[bool] = mapped_column(default=False)
    error: Mapped[str] = mapped_column(Text, default="")
    digest_of: Mapped[str | None] = mapped_column(
        ForeignKey("users.id"), index=True
    )  # grows until it goes out

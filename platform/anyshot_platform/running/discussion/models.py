"""Tables of the discussion pages."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, new_id, now


class Thread(Base):
    """A subject of discussion in a competition."""

    __tablename__ = "threads"
    __table_args__ = (Index("ix_threads_competition_id_last_post_at", "competition_id", "last_post_at"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"))
    title: Mapped[str]
    author_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    pinned: Mapped[bool] = mapped_column(default=False)
    locked: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(default=now)
    last_post_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]


class Post(Base):
    """One message of a thread, in Markdown."""

    __tablename__ = "posts"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    thread_id: Mapped[str] = mapped_column(ForeignKey("threads.id"), index=True)
    author_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    body: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)
    edited_at: Mapped[datetime | None]
    accepted_at: Mapped[datetime | None]  # as the answer to the thread's question; one of a thread at most
    deleted_at: Mapped[datetime | None]


class PostEdit(Base):
    """What a post said before its author changed it."""

    __tablename__ = "post_edits"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    post_id: Mapped[str] = mapped_column(ForeignKey("posts.id"), index=True)
    body: Mapped[str] = mapped_column(Text)
    replaced_at: Mapped[datetime] = mapped_column(default=now)

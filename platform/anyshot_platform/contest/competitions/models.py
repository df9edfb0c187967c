"""Tables of competitions, their pages and their members."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from anyshot_platform.contest.competitions.states import (
    CompetitionState,
    Due,
    MemberStatus,
    Registration,
    Role,
    Visibility,
)
from anyshot_platform.foundation.database import Base, Word, new_id, now
from anyshot_platform.people.users.models import User


class Competition(Base):
    """A competition: what all its phases share."""

    __tablename__ = "competitions"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    slug: Mapped[str] = mapped_column(String(64), unique=True)
    title: Mapped[str]
    summary: Mapped[str] = mapped_column(Text, default="")
    state: Mapped[CompetitionState] = mapped_column(Word(CompetitionState), default=CompetitionState.DRAFT)
    visibility: Mapped[Visibility] = mapped_column(Word(Visibility), default=Visibility.PUBLIC)
    opens_at: Mapped[datetime | None]  # published before, it is seen from this moment on
    version: Mapped[int] = mapped_column(default=1)  # counts edits, for the editor's "somebody else saved"
    logo_digest: Mapped[str | None] = mapped_column(String(64))
    logo_media_type: Mapped[str] = mapped_column(String(64), default="")
    contact_email: Mapped[str] = mapped_column(String(320), default="")
    terms: Mapped[str] = mapped_column(Text, default="")
    terms_version: Mapped[int] = mapped_column(default=1)
    registration: Mapped[Registration] = mapped_column(Word(Registration), default=Registration.OPEN)
    email_domains: Mapped[list[str]] = mapped_column(default=list)  # empty: any
    team_size: Mapped[int] = mapped_column(default=1)  # largest team; 1 means no teams
    discussion_open: Mapped[bool] = mapped_column(default=True)
    fact_sheet: Mapped[list[Any]] = mapped_column(default=list)  # questions: key, label, required
    fact_sheet_from: Mapped[Due] = mapped_column(Word(Due), default=Due.FINALISTS)
    fact_sheet_by: Mapped[datetime | None]
    prizes: Mapped[str] = mapped_column(Text, default="")
    retention: Mapped[dict[str, Any]] = mapped_column(default=dict)  # overrides of the site's days
    code_published_at: Mapped[datetime | None]  # winners' code
    created_by: Mapped[str] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
    deleted_at: Mapped[datetime | None]
    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012 - read by SQLAlchemy

    pages: Mapped[list[CompetitionPage]] = relationship(
        order_by="CompetitionPage.position", cascade="all, delete-orphan"
    )


class CompetitionPage(Base):
    """A page of text, in Markdown."""

    __tablename__ = "competition_pages"
    __table_args__ = (UniqueConstraint("competition_id", "slug"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"))
    slug: Mapped[str] = mapped_column(String(64))
    title: Mapped[str]
    body: Mapped[str] = mapped_column(Text, default="")
    position: Mapped[int] = mapped_column(default=0)


class Membership(Base):
    """A user in a competition: role, standing, team, and what organizers noted."""

    __tablename__ = "memberships"
    __table_args__ = (
        UniqueConstraint("competition_id", "user_id"),
        Index("ix_memberships_competition_id_role_status", "competition_id", "role", "status"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"))
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    role: Mapped[Role] = mapped_column(Word(Role), default=Role.PARTICIPANT)
    status: Mapped[MemberStatus] = mapped_column(Word(MemberStatus), default=MemberStatus.PENDING)
    status_reason: Mapped[str] = mapped_column(Text, default="")
    team_id: Mapped[str | None] = mapped_column(ForeignKey("teams.id"), index=True)
    notes: Mapped[str] = mapped_column(Text, default="")  # organizers' only
    terms_version: Mapped[int | None]
    terms_accepted_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=now)

    user: Mapped[User] = relationship()


class Rehearsal(Base):
    """A competition that is played once with its baselines, in a hidden copy of it."""

    __tablename__ = "rehearsals"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"), index=True)
    copy_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"), index=True)
    actor_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    tasks: Mapped[int]  # at most so many a run
    teams: Mapped[int]  # for how many teams the forecast is
    story: Mapped[str] = mapped_column(Text, default="")  # of `running.rehearsals.diary`
    created_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]


class CompetitionFile(Base):
    """An image or another file that pages of text show or link, as `files/NAME`."""

    __tablename__ = "competition_files"

    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    digest: Mapped[str] = mapped_column(ForeignKey("blobs.digest"), index=True)
    size: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(default=now)

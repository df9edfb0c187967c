"""Tables of teams. Everyone who may submit is in one: a single participant in a team of one."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.foundation.database import Base, new_id, now


class Team(Base):
    """Who submits together: shares one quota (its row is what an upload locks) and one row on each board."""

    __tablename__ = "teams"
    __table_args__ = (UniqueConstraint("competition_id", "name_key"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"))
    name: Mapped[str] = mapped_column(String(64))  # what the board shows; may be a pseudonym
    name_key: Mapped[str] = mapped_column(String(64))
    captain_id: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    out_of_ranking: Mapped[bool] = mapped_column(default=False)  # organizers and their circle
    extra_quota_day: Mapped[int] = mapped_column(default=0)
    extra_quota_phase: Mapped[int] = mapped_column(default=0)
    code_hidden_at: Mapped[
        datetime | None
    ]  # by organizers: none of its code is public, whatever is published
    created_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]


class TeamInvitation(Base):
    """A captain's invitation, or somebody's request, waiting for the other side."""

    __tablename__ = "team_invitations"
    __table_args__ = (UniqueConstraint("team_id", "user_id"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"))
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    answered_at: Mapped[datetime | None]
    accepted: Mapped[bool | None]

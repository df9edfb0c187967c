"""Tables of entries, their history, and who may have one."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.foundation.database import Base, Word, new_id, now
from anyshot_platform.standings.entries.states import Choice, EntryState


class Entry(Base):
    """What a team has in a league of a phase: one row, whatever it uploads."""

    __tablename__ = "entries"
    __table_args__ = (UniqueConstraint("phase_id", "league_id", "team_id"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"))
    league_id: Mapped[str] = mapped_column(ForeignKey("leagues.id"), index=True)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"), index=True)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), index=True)
    state: Mapped[EntryState] = mapped_column(Word(EntryState))
    choice: Mapped[Choice] = mapped_column(Word(Choice))
    reason: Mapped[str] = mapped_column(Text, default="")  # why it does not stand, for its team
    by_hand_id: Mapped[str | None] = mapped_column(
        ForeignKey("submissions.id")
    )  # the wish to let this one stand
    by_hand_of: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    updated_at: Mapped[datetime] = mapped_column(default=now)


class EntryChange(Base):
    """The history of an entry: which submission replaced which, and why."""

    __tablename__ = "entry_changes"
    __table_args__ = (Index("ix_entry_changes_entry_id_at", "entry_id", "at"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    entry_id: Mapped[str] = mapped_column(ForeignKey("entries.id"))
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), index=True)
    replaced_id: Mapped[str | None] = mapped_column(ForeignKey("submissions.id"))
    state: Mapped[EntryState] = mapped_column(Word(EntryState))
    choice: Mapped[Choice] = mapped_column(Word(Choice))
    reason: Mapped[str] = mapped_column(Text, default="")
    at: Mapped[datetime] = mapped_column(default=now)


class LeagueAnswer(Base):
    """What one member answered to a league's questions: organizers see it, deleting the account erases it."""

    __tablename__ = "league_answers"
    __table_args__ = (UniqueConstraint("league_id", "membership_id", "team_id"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    league_id: Mapped[str] = mapped_column(ForeignKey("leagues.id"))
    membership_id: Mapped[str] = mapped_column(ForeignKey("memberships.id"), index=True)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"), index=True)  # the team it was answered for
    answers: Mapped[dict[str, Any]] = mapped_column(default=dict)
    answered_at: Mapped[datetime] = mapped_column(default=now)


class TeamVerdict(Base):
    """What the organizers decided on a team in a league that asks, until an answer changes.

    An admission holds for entries of these `people` (ids of memberships): not for one with somebody who joined since.
    """

    __tablename__ = "team_verdicts"

    league_id: Mapped[str] = mapped_column(ForeignKey("leagues.id"), primary_key=True)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"), primary_key=True, index=True)
    status: Mapped[EntryStatus] = mapped_column(Word(EntryStatus), default=EntryStatus.DECLARED)
    reason: Mapped[str] = mapped_column(Text, default="")
    people: Mapped[list[Any]] = mapped_column(default=list)
    decided_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    decided_at: Mapped[datetime | None]

"""Tables of submissions and of uploads that are not complete."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import Base, Word, new_id, now
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus, UploadPurpose
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User


class Submission(Base):
    """A zip that a team handed in to a phase."""

    __tablename__ = "submissions"
    __table_args__ = (
        Index("ix_submissions_phase_id_created_at", "phase_id", "created_at"),
        Index("ix_submissions_competition_id_created_at", "competition_id", "created_at"),
        Index("ix_submissions_team_id_phase_id_created_at", "team_id", "phase_id", "created_at"),
        Index("ix_submissions_user_id_created_at", "user_id", "created_at"),
        Index("ix_submissions_phase_id_status", "phase_id", "status"),
        # What the organizers' table is sorted by.
        Index("ix_submissions_competition_id_score", "competition_id", "score", "id"),
        Index("ix_submissions_competition_id_finished_at", "competition_id", "finished_at", "id"),
        Index("ix_submissions_competition_id_size", "competition_id", "size", "id"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    competition_id: Mapped[str] = mapped_column(ForeignKey("competitions.id"))
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id"))
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"))
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    kind: Mapped[SubmissionKind] = mapped_column(Word(SubmissionKind), default=SubmissionKind.ENTRY)
    number: Mapped[int] = mapped_column(default=1)  # counts a team's submissions to a phase
    filename: Mapped[str] = mapped_column(default="submission.zip")
    comment: Mapped[str] = mapped_column(Text, default="")
    noted_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))  # the note or the tags, last
    noted_at: Mapped[datetime | None]
    digest: Mapped[str] = mapped_column(ForeignKey("blobs.digest"), index=True)
    size: Mapped[int] = mapped_column(BigInteger)
    checks: Mapped[list[Any]] = mapped_column(default=list)  # what the bundle checks said
    people: Mapped[list[Any]] = mapped_column(
        default=list
    )  # ids of memberships: who was in the team when it was handed in, the captain first
    gate_of: Mapped[str | None] = mapped_column(
        String(64)
    )  # short name of the baseline that it measures a gate with
    origin_id: Mapped[str | None] = mapped_column(
        ForeignKey("submissions.id"), index=True
    )  # of a final entry

    status: Mapped[SubmissionStatus] = mapped_column(Word(SubmissionStatus), default=SubmissionStatus.QUEUED)
    verdict: Mapped[Verdict | None] = mapped_column(Word(Verdict))
    cause: Mapped[Cause | None] = mapped_column(Word(Cause))
    score: Mapped[float | None]  # under the live version
    half_width: Mapped[float | None]
    quarantined: Mapped[bool] = mapped_column(default=False)

    quota_day: Mapped[date]  # UTC day it counts for
    counts_quota: Mapped[bool] = mapped_column(default=True)
    quota_reason: Mapped[str] = mapped_column(default="")
    quota_decided_at: Mapped[datetime | None]  # by organizers: no end of a run changes it after that

    created_at: Mapped[datetime] = mapped_column(default=now)  # the moment that counts
    arrived_at: Mapped[datetime | None]  # of the hand-in, where another moment counts
    finished_at: Mapped[datetime | None]
    disqualified_at: Mapped[datetime | None]
    disqualified_reason: Mapped[str] = mapped_column(Text, default="")
    withdrawn_at: Mapped[datetime | None]  # by the team
    deleted_at: Mapped[datetime | None]
    code_published_at: Mapped[datetime | None]

    competition: Mapped[Competition] = relationship()
    phase: Mapped[Phase] = relationship()
    team: Mapped[Team] = relationship()
    user: Mapped[User] = relationship(foreign_keys=[user_id])


class SubmissionTag(Base):
    """A word that a team put on a submission, to find it again."""

    __tablename__ = "submission_tags"

    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    tag: Mapped[str] = mapped_column(String(30), primary_key=True)


class Upload(Base):
    """A resumable upload; the bytes lie in a file of the upload folder until it is complete."""

    __tablename__ = "uploads"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    filename: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    received: Mapped[int] = mapped_column(BigInteger, default=0)
    digest: Mapped[str | None] = mapped_column(String(64))  # as announced
    purpose: Mapped[UploadPurpose] = mapped_column(Word(UploadPurpose), default=UploadPurpose.SUBMISSION)
    created_at: Mapped[datetime] = mapped_column(default=now)
    begun_at: Mapped[datetime | None]  # its first byte came, or was refused for load
    completed_at: Mapped[datetime | None]
    passed_as: Mapped[str | None] = mapped_column(
        String(64)
    )  # of which bytes it passed the checks, for which runs
    checks: Mapped[list[Any]] = mapped_column(default=list)  # what they said then
    used_at: Mapped[datetime | None]


class UsedTicket(Base):
    """A ticket of a request that was refused for load, once an upload or submission has its place: no other gets it."""

    __tablename__ = "used_tickets"

    mark: Mapped[str] = mapped_column(String(64), primary_key=True)
    used_at: Mapped[datetime] = mapped_column(default=now)

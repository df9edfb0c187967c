"""Announcements: written by organizers, shown on the page and told by e-mail."""

from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import changes_upon
from anyshot_platform.contest.competitions.messages import tell_members
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.plain_text import plain
from anyshot_platform.people.audit import service as audit
from anyshot_platform.running.announcements.models import Announcement


def announce(
    session: Session, competition: Competition, title: str, body: str, actor_id: str
) -> Announcement:
    """Tell all participants something, each in the way they chose."""
    announcement = Announcement(
        competition_id=competition.id, title=title.strip()[:200], body=body, created_by=actor_id
    )
    session.add(announcement)
    session.flush()
    subject = f"{competition.title}: {announcement.title}"
    told = {"kind": "announcement", "title": subject, "body": plain(body), "path": "/announcements"}
    tell_members(session, competition, **told)
    return announcement


def announcement_fields(row: Announcement) -> dict[str, str]:
    """What is edited of an announcement."""
    return {"title": row.title, "body": row.body}


def edit_announcement(
    session: Session, row: Announcement, sent: Mapping[str, str], actor_id: str, version: str | None
) -> None:
    """Write other words on the page; nobody gets a message, and the log keeps what was there before.

    `version` and `Stale` are as in `changes_upon`.
    """
    before = announcement_fields(row)
    after = changes_upon(session, ("announcement", row.id), version, sent, before)
    if not after:
        return
    for name, value in after.items():
        setattr(row, name, value)
    row.edited_at = now()
    audit.record(
        session,
        actor_id=actor_id,
        action="announcement.edit",
        object_type="announcement",
        object_id=row.id,
        competition_id=row.competition_id,
        before={name: before[name] for name in after},
        after=after,
    )


def list_announcements(
    session: Session, competition: Competition, *, deleted: bool = False, most: int | None = None
) -> Sequence[Announcement]:
    """Newest first, at most `most`."""
    query = select(Announcement).where(Announcement.competition_id == competition.id)
    if not deleted:
        query = query.where(Announcement.deleted_at.is_(None))
    return session.scalars(query.order_by(Announcement.created_at.desc()).limit(most)).all()


def find_announcement(session: Session, competition: Competition, announcement_id: str) -> Announcement:
    """An announcement of this competition; raises `NotFound`."""
    found = session.get(Announcement, announcement_id)
    if found is None or found.competition_id != competition.id:
        raise NotFound("There is no such announcement.")
    return found

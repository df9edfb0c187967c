"""Writes and reads the audit log."""

from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.paging import Page, page_of
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.users.models import User

PAGE_SIZE = 50


def record(
    session: Session,
    *,
    actor_id: str | None,
    action: str,
    object_type: str,
    object_id: str,
    competition_id: str | None = None,
    reason: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> AuditEntry:
    """Note an act in the transaction that carries it out; `actor_id` None is the platform itself."""
    entry = AuditEntry(
        actor_id=actor_id,
        competition_id=competition_id,
        action=action,
        object_type=object_type,
        object_id=object_id,
        reason=reason,
        before=before or {},
        after=after or {},
    )
    session.add(entry)
    return entry


def select_entries(
    *,
    competition_id: str | None = None,
    actor_id: str | None = None,
    action: str | None = None,
    object_type: str | None = None,
    object_id: str | None = None,
) -> Select[AuditEntry]:
    """A query for entries, newest first; None leaves a condition out."""
    query = select(AuditEntry).order_by(AuditEntry.id.desc())
    wanted = {
        AuditEntry.competition_id: competition_id,
        AuditEntry.actor_id: actor_id,
        AuditEntry.action: action,
        AuditEntry.object_type: object_type,
        AuditEntry.object_id: object_id,
    }
    return query.where(*(column == value for column, value in wanted.items() if value is not None))


def read_entries(
    session: Session, *, competition_id: str | None, action: str, who: str, number: int
) -> tuple[list[tuple[AuditEntry, str | None]], Page]:
    """One page of the log, newest first, each entry with the name of who did it; empty words filter nothing."""
    query = select_entries(competition_id=competition_id, action=action or None)
    if who:
        actors = select(User.id).where(User.username_key == who.casefold())
        query = query.where(AuditEntry.actor_id.in_(actors))
    total = session.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
    page = page_of(number, PAGE_SIZE, total)
    entries = list(session.scalars(query.offset(page.offset).limit(page.size)))
    named = select(User.id, User.username).where(User.id.in_([entry.actor_id for entry in entries]))
    names = {row.id: row.username for row in session.execute(named)}
    return [(entry, names.get(entry.actor_id or "")) for entry in entries], page

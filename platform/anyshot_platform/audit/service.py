"""Writes and reads the audit log."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from anyshot_platform.audit.models import AuditEntry


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

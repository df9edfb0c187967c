"""What background work was given up: e-mails, webhook messages and rows of duties. Operators see it and try again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from anyshot_platform.database import now
from anyshot_platform.errors import NotFound
from anyshot_platform.kernel.language import say
from anyshot_platform.notifications.models import Email
from anyshot_platform.queue.models import Trouble
from anyshot_platform.queue.outbox import mark_outbox
from anyshot_platform.webhooks.models import Webhook, WebhookDelivery

EMAIL, WEBHOOK = "email", "webhook"
_MOST = 200
_EMAILS = Email.ended_at.is_not(None), Email.sent.is_(False)
_DELIVERIES = WebhookDelivery.ended_at.is_not(None), WebhookDelivery.delivered.is_(False)
_TROUBLES = (Trouble.set_aside_at.is_not(None),)


@dataclass(frozen=True)
class SetAside:
    """One thing that was tried too often: its kind (e-mail, webhook, or a duty's name), what it is and what failed."""

    kind: str
    id: str
    what: str
    attempts: int
    error: str
    since: datetime | None  # None: it is not set aside (any more)


def list_set_aside(session: Session, *, limit: int = _MOST) -> list[SetAside]:
    """What is set aside, newest first."""
    emails = session.scalars(_newest(select(Email).where(*_EMAILS), Email.ended_at, limit))
    hooks = select(WebhookDelivery).where(*_DELIVERIES)
    deliveries = session.scalars(_newest(hooks, WebhookDelivery.ended_at, limit))
    troubles = session.scalars(_newest(select(Trouble).where(*_TROUBLES), Trouble.set_aside_at, limit))
    found = [_show(session, row) for row in (*emails, *deliveries, *troubles)]
    return sorted(found, key=lambda one: str(one.since), reverse=True)[:limit]


def find_given_up(session: Session, kind: str, identity: str) -> SetAside:
    """One thing that was tried, set aside or not; raises `NotFound`."""
    known: dict[str, type[Email | WebhookDelivery]] = {EMAIL: Email, WEBHOOK: WebhookDelivery}
    row = session.get(known[kind], identity) if kind in known else session.get(Trouble, (kind, identity))
    if row is None:
        raise NotFound(say("Nothing of this kind and id was tried."))
    return _show(session, row)


def _show(session: Session, row: Email | WebhookDelivery | Trouble) -> SetAside:
    if isinstance(row, Trouble):
        return SetAside(row.duty, row.subject, row.subject, row.attempts, row.error, row.set_aside_at)
    if isinstance(row, Email):
        since = None if row.sent else row.ended_at
        return SetAside(EMAIL, row.id, f"{row.to}: {row.subject}", row.attempts, row.error, since)
    url = session.get_one(Webhook, row.webhook_id).url
    since = None if row.delivered else row.ended_at
    return SetAside(WEBHOOK, row.id, f"{row.event} to {url}", row.attempts, row.error, since)


def _newest(query: Any, column: Any, limit: int) -> Any:
    return query.order_by(column.desc()).limit(limit)


def count_set_aside(session: Session) -> int:
    """How many things are set aside."""
    return sum(count_by_kind(session).values())


def count_by_kind(session: Session) -> dict[str, int]:
    """How many e-mails, webhook messages and rows of duties are set aside."""
    parts = (
        (EMAIL, Email.id, _EMAILS),
        (WEBHOOK, WebhookDelivery.id, _DELIVERIES),
        ("row", Trouble.subject, _TROUBLES),
    )
    return {
        kind: session.scalar(select(func.count(column)).where(*where)) or 0 for kind, column, where in parts
    }


def release(session: Session, kind: str, identity: str) -> None:
    """Let one thing be tried again, from its first attempt on."""
    again = {"attempts": 0, "next_at": now()}
    if kind == EMAIL:
        statement = update(Email).where(Email.id == identity, *_EMAILS).values(**again, ended_at=None)
    elif kind == WEBHOOK:
        statement = (
            update(WebhookDelivery)
            .where(WebhookDelivery.id == identity, *_DELIVERIES)
            .values(**again, ended_at=None)
        )
    else:
        where = Trouble.duty == kind, Trouble.subject == identity, *_TROUBLES
        statement = update(Trouble).where(*where).values(**again, set_aside_at=None)
    session.execute(statement)
    mark_outbox(session)

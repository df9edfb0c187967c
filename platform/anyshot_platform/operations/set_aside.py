"""What background work was given up: e-mails, webhook messages and rows of duties. Operators see it and try again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from anyshot_platform.audit import service as audit
from anyshot_platform.database import now
from anyshot_platform.errors import NotFound
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
    since: datetime


def list_set_aside(session: Session, *, limit: int = _MOST) -> list[SetAside]:
    """What is set aside, newest first."""
    emails = session.scalars(_newest(select(Email).where(*_EMAILS), Email.ended_at, limit))
    hooks = select(WebhookDelivery, Webhook.url).join(Webhook, Webhook.id == WebhookDelivery.webhook_id)
    deliveries: Any = session.execute(_newest(hooks.where(*_DELIVERIES), WebhookDelivery.ended_at, limit))
    troubles = session.scalars(_newest(select(Trouble).where(*_TROUBLES), Trouble.set_aside_at, limit))
    found = [
        *(SetAside(EMAIL, e.id, f"{e.to}: {e.subject}", e.attempts, e.error, e.ended_at) for e in emails),
        *(
            SetAside(WEBHOOK, d.id, f"{d.event} to {url}", d.attempts, d.error, d.ended_at)
            for d, url in deliveries
        ),
        *(SetAside(t.duty, t.subject, t.subject, t.attempts, t.error, t.set_aside_at) for t in troubles),
    ]
    return sorted(found, key=lambda one: one.since, reverse=True)[:limit]


def _newest(query: Any, column: Any, limit: int) -> Any:
    return query.order_by(column.desc()).limit(limit)


def count_set_aside(session: Session) -> int:
    """How many things are set aside."""
    parts = ((Email.id, _EMAILS), (WebhookDelivery.id, _DELIVERIES), (Trouble.subject, _TROUBLES))
    return sum(session.scalar(select(func.count(column)).where(*where)) or 0 for column, where in parts)


def retry(session: Session, kind: str, identity: str, actor_id: str | None) -> None:
    """Try one thing again, from its first attempt on; raises `NotFound` if it is not set aside."""
    if _release(session, kind, identity) == 0:
        raise NotFound(f"There is no “{kind}” set aside with that id.")
    mark_outbox(session)
    audit.record(
        session, actor_id=actor_id, action="set_aside.retry", object_type=kind[:32], object_id=identity[:64]
    )


def retry_all(session: Session, actor_id: str | None) -> int:
    """Try everything again that is set aside; returns how much."""
    found = list_set_aside(session)
    for one in found:
        retry(session, one.kind, one.id, actor_id)
    return len(found)


def _release(session: Session, kind: str, identity: str) -> int:
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
    return session.execute(statement).rowcount  # pyright: ignore[reportAttributeAccessIssue]

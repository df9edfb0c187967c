"""Leaves webhook messages in the outbox."""

from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.background.outbox import mark_outbox
from anyshot_platform.foundation.database import now
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery

EVENTS = (
    "submission.queued",
    "submission.finished",
    "submission.failed",
    "submission.cancelled",
    "phase.published",
    "alert.opened",
    "alert.closed",
)


def emit(session: Session, competition_id: str | None, event: str, payload: dict[str, Any]) -> None:
    """Leave a message for each webhook of the competition, and of the site, that asked for the event."""
    hooks = session.scalars(
        select(Webhook).where(
            Webhook.active,
            Webhook.deleted_at.is_(None),
            or_(Webhook.competition_id == competition_id, Webhook.competition_id.is_(None)),
        )
    ).all()
    for hook in hooks:
        if not hook.events or event in hook.events:
            body = {"event": event, "at": now().isoformat(), "competition": competition_id, **payload}
            session.add(WebhookDelivery(webhook_id=hook.id, event=event, payload=body))
            mark_outbox(session)

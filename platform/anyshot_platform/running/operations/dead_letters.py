"""What background work was given up: e-mails, webhook messages and rows of duties. Operators see it and try again."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from anyshot_platform.foundation.background.models import Trouble
from anyshot_platform.foundation.background.outbox import mark_outbox
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery

EMAIL, WEBHOOK = "email", "webhook"
Kept = Email | WebhookDelivery | Trouble
_MOST = 200
_NEVER = datetime(9000, 1, 1, tzinfo=UTC)  # the next try of what somebody gave up
_REMOVED = select(Webhook.id).where(Webhook.deleted_at.is_not(None))
_EMAILS = Email.ended_at.is_not(None), Email.sent.is_(False)
_DELIVERIES = (
    WebhookDelivery.ended_at.is_not(None),
    WebhookDelivery.delivered.is_(False),
    WebhookDelivery.webhook_id.not_in(_REMOVED),
)
_TROUBLES = (Trouble.set_aside_at.is_not(None),)


class SetAside(BaseModel):
    """One thing that was tried too often: `kind` is email, webhook or the name of a background duty."""

    model_config = ConfigDict(frozen=True)

    kind: str
    id: str
    what: str
    attempts: int
    error: str
    since: Annotated[datetime | None, Field(description="null: it is not set aside any more")]
    given_up: Annotated[bool, Field(exclude=True)] = False  # somebody said that it is not to be tried again
    removed: Annotated[bool, Field(exclude=True)] = False  # its webhook is: nothing is posted to it


def list_set_aside(session: Session, *, limit: int = _MOST) -> list[SetAside]:
    """What is set aside, newest first."""
    emails = session.scalars(_newest(Email, _EMAILS, Email.ended_at, limit))
    deliveries = session.scalars(_newest(WebhookDelivery, _DELIVERIES, WebhookDelivery.ended_at, limit))
    troubles = session.scalars(_newest(Trouble, _TROUBLES, Trouble.set_aside_at, limit))
    found = [_show(session, row) for row in (*emails, *deliveries, *troubles)]
    return sorted(found, key=lambda one: str(one.since), reverse=True)[:limit]


def find_given_up(session: Session, kind: str, identity: str) -> SetAside:
    """One thing that was tried, set aside or not; raises `NotFound`."""
    known: dict[str, type[Email | WebhookDelivery]] = {EMAIL: Email, WEBHOOK: WebhookDelivery}
    row = session.get(known[kind], identity) if kind in known else session.get(Trouble, (kind, identity))
    if row is None:
        raise NotFound("Nothing of this kind and id was tried.")
    return _show(session, row)


def _show(session: Session, row: Kept) -> SetAside:
    given_up = row.next_at >= _NEVER
    removed = False
    if isinstance(row, Trouble):
        kind, key, what, since = row.duty, row.subject, row.subject, row.set_aside_at
    elif isinstance(row, Email):
        kind, key, what = EMAIL, row.id, f"{row.to}: {row.subject}"
        since = None if row.sent else row.ended_at
    else:
        hook = session.get_one(Webhook, row.webhook_id)
        removed = hook.deleted_at is not None
        kind, key, what = WEBHOOK, row.id, f"{row.event} to {hook.url}"
        since = None if row.delivered or removed else row.ended_at
    return SetAside(
        kind=kind,
        id=key,
        what=what,
        attempts=row.attempts,
        error=row.error,
        since=None if given_up else since,
        given_up=given_up,
        removed=removed,
    )


def _newest(model: type[Kept], failed: Any, column: Any, limit: int) -> Any:
    return select(model).where(*failed, model.next_at < _NEVER).order_by(column.desc()).limit(limit)


def count_set_aside(session: Session) -> int:
    """How many things are set aside."""
    return sum(count_by_kind(session).values())


def count_by_kind(session: Session) -> dict[str, int]:
    """How many e-mails, webhook messages and rows of duties are set aside."""
    parts = ((EMAIL, Email, _EMAILS), (WEBHOOK, WebhookDelivery, _DELIVERIES), ("row", Trouble, _TROUBLES))
    return {
        kind: session.scalar(select(func.count()).where(*failed, model.next_at < _NEVER)) or 0
        for kind, model, failed in parts
    }


def release(session: Session, kind: str, identity: str) -> None:
    """Let one thing be tried again, from its first attempt on, also one that was given up."""
    model, one = _place(kind, identity)
    _release(session, model, *one)


def release_all(session: Session) -> None:
    """Let everything that is set aside be tried again; what was given up stays so."""
    for model in (Email, WebhookDelivery, Trouble):
        _release(session, model, model.next_at < _NEVER)


def _release(session: Session, model: type[Kept], *where: ColumnElement[bool]) -> None:
    failed, ended = _ended(model)
    again = {"attempts": 0, "next_at": now(), ended: None}
    session.execute(update(model).where(*where, *failed).values(**again))
    mark_outbox(session)


def give_up(session: Session, kind: str, identity: str) -> None:
    """Let one thing that is set aside count no more; its row stays, and is not tried again."""
    model, one = _place(kind, identity)
    session.execute(update(model).where(*one, *_ended(model)[0]).values(next_at=_NEVER))


def _place(kind: str, identity: str) -> tuple[type[Kept], tuple[ColumnElement[bool], ...]]:
    """Where the row of one thing lies: its table and its key."""
    if kind == EMAIL:
        return Email, (Email.id == identity,)
    if kind == WEBHOOK:
        return WebhookDelivery, (WebhookDelivery.id == identity,)
    return Trouble, (Trouble.duty == kind, Trouble.subject == identity)


def _ended(model: type[Kept]) -> tuple[tuple[ColumnElement[bool], ...], str]:
    """What holds for the rows of a table that were tried too often, and the column that says since when."""
    if model is Trouble:
        return _TROUBLES, "set_aside_at"
    return _EMAILS if model is Email else _DELIVERIES, "ended_at"

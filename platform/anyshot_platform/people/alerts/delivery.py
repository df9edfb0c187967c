"""Tells operators of alerts, and that they are over: by e-mail, and by a post to the address in the settings."""

import logging
from collections.abc import Iterator
from datetime import datetime

import httpx
from sqlalchemy import select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from anyshot_platform.foundation.background.duties import drop_duty, take_duty
from anyshot_platform.foundation.background.isolation import each, resting
from anyshot_platform.foundation.database import new_id, now
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.notifications.letters import send_email

log = logging.getLogger(__name__)
_TIMEOUT = 5.0
_CLAIM = 30.0  # seconds: longer than a post takes; then another process may post what this one did not


def tell_operators(services: Services) -> int:
    """Tell of the alerts that nobody was told of, each way apart from the other; returns how many messages left."""
    with services.database.reading() as session:
        untold = session.scalars(select(Alert.id).where(Alert.told_at.is_(None))).all()
        unposted = session.scalars(select(Alert.id).where(Alert.posted_at.is_(None))).all()
    told = each(services, "alert", untold, lambda identity: _mail(services, identity))
    rest = resting(services, "alert-post")
    claimed = _claim_each(services, [identity for identity in unposted if identity not in rest])
    return told + each(services, "alert-post", claimed, lambda identity: _post(services, identity))


def _claim_each(services: Services, identities: list[str]) -> Iterator[str]:
    """The alerts that no other process posts now; each is claimed until the next one is asked for."""
    holder = new_id()
    for identity in identities:
        if take_duty(services, identity, holder, _CLAIM):
            yield identity
            drop_duty(services, identity, holder)


def _mark(session: Session, alert: Alert, column: InstrumentedAttribute[datetime | None]) -> bool:
    """Note that the alert was told as it was read; false where somebody else told of it, or it closed meanwhile."""
    marked = session.execute(
        update(Alert)
        .where(Alert.id == alert.id, column.is_(None), Alert.until.is_not_distinct_from(alert.until))
        .values({column: now()})
        .execution_options(synchronize_session=False)
    )
    return marked.rowcount == 1  # pyright: ignore[reportAttributeAccessIssue]


def _mail(services: Services, identity: str) -> int:
    receiver = services.settings.operator_email
    with services.database.writing() as session:
        alert = session.get_one(Alert, identity)
        if not _mark(session, alert, Alert.told_at):
            return 0
        words = alert.message if alert.until is None else f"Over: {alert.message}"
        level = logging.ERROR if alert.until is None else logging.INFO
        log.log(level, words, extra={"alert": alert.kind, "subject": alert.subject})
        if receiver:
            send_email(session, to=receiver, subject=words, body=words + "\n")
    return 1


def _post(services: Services, identity: str) -> int:
    """Post the alert, if the settings name an address; raises `httpx.HTTPError` if it did not arrive."""
    url = services.settings.alert_webhook
    with services.database.reading() as session:
        alert = session.get_one(Alert, identity)
    if alert.posted_at is not None:  # by another process, before this one claimed it
        return 0
    body = {
        "alert": alert.kind,
        "subject": alert.subject,
        "message": alert.message,
        "since": alert.since.isoformat(),
        "until": alert.until.isoformat() if alert.until else None,
    }
    if url:
        httpx.post(url, json=body, timeout=_TIMEOUT).raise_for_status()
    with services.database.writing() as session:
        _mark(session, alert, Alert.posted_at)
    return int(bool(url))

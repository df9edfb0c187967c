"""Tells operators of alerts, and that they are over: by e-mail, and by a post to the address in the settings."""

from __future__ import annotations

import logging

import httpx
from sqlalchemy import select, update

from anyshot_platform.alerts.models import Alert
from anyshot_platform.database import now
from anyshot_platform.notifications.letters import send_email
from anyshot_platform.queue.isolation import each
from anyshot_platform.services import Services

log = logging.getLogger(__name__)
_TIMEOUT = 5.0


def tell_operators(services: Services) -> int:
    """Tell of the alerts that nobody was told of, each way apart from the other; returns how many messages left."""
    with services.database.reading() as session:
        untold = session.scalars(select(Alert.id).where(Alert.told_at.is_(None))).all()
        unposted = session.scalars(select(Alert.id).where(Alert.posted_at.is_(None))).all()
    told = each(services, "alert", untold, lambda identity: _mail(services, identity))
    return told + each(services, "alert-post", unposted, lambda identity: _post(services, identity))


def _mail(services: Services, identity: str) -> int:
    receiver = services.settings.operator_email
    with services.database.writing() as session:
        alert = session.get_one(Alert, identity)
        alert.told_at = now()
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
        session.execute(update(Alert).where(Alert.id == identity).values(posted_at=now()))
    return int(bool(url))

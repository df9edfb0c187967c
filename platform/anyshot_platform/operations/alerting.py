"""Tells operators of alerts: by e-mail, and by a post to the address in the settings."""

from __future__ import annotations

import logging

import httpx
from sqlalchemy import select, update

from anyshot_platform.database import now
from anyshot_platform.notifications.service import send_email
from anyshot_platform.operations.models import Alert
from anyshot_platform.web.services import Services

log = logging.getLogger(__name__)
_TIMEOUT = 5.0


def tell_operators(services: Services) -> int:
    """Tell of the alerts that nobody was told of; returns how many."""
    settings = services.settings
    with services.database.reading() as session:
        fresh = session.scalars(select(Alert).where(Alert.told_at.is_(None))).all()
    for alert in fresh:
        log.error(alert.message, extra={"alert": alert.kind, "subject": alert.subject})
        if settings.alert_webhook and not _post(settings.alert_webhook, alert):
            continue  # tried again in a second
        with services.database.writing() as session:
            session.execute(update(Alert).where(Alert.id == alert.id).values(told_at=now()))
            if settings.operator_email:
                send_email(
                    session, to=settings.operator_email, subject=alert.message, body=alert.message + "\n"
                )
    return len(fresh)


def _post(url: str, alert: Alert) -> bool:
    body = {
        "alert": alert.kind,
        "subject": alert.subject,
        "message": alert.message,
        "since": alert.since.isoformat(),
    }
    try:
        return httpx.post(url, json=body, timeout=_TIMEOUT).status_code < 500
    except httpx.HTTPError as error:
        log.warning("the alert webhook cannot be reached", extra={"error": str(error)})
        return False

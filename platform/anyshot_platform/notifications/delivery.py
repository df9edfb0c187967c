"""Sends e-mails: by SMTP, or as files in the embedded set-up."""

from __future__ import annotations

import logging
import smtplib
from collections.abc import Callable
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from anyshot_platform.database import now
from anyshot_platform.notifications.models import Email
from anyshot_platform.web.services import Services

log = logging.getLogger(__name__)
_TRIES = 8
_BATCH = 50


def send_due_emails(services: Services) -> int:
    """Send the e-mails that are due; returns how many went out. One that fails is tried again, ever later."""
    sent = 0
    with services.database.reading() as session:
        due = session.scalars(
            select(Email.id)
            .where(Email.ended_at.is_(None), Email.next_at <= now())
            .order_by(Email.next_at)
            .limit(_BATCH)
        ).all()
    for identity in due:
        email = _take(services, identity)
        if email is not None:
            sent += _send(services, email)
    return sent


def _take(services: Services, identity: str) -> Email | None:
    """Claim an e-mail, so that no two processes send it, until its next try is due."""
    with services.database.writing() as session:
        email = session.get(Email, identity)
        if email is None or email.ended_at is not None:
            return None
        pause = timedelta(seconds=30 * 2**email.attempts)
        taken = session.execute(
            update(Email)
            .where(Email.id == identity, Email.attempts == email.attempts, Email.ended_at.is_(None))
            .values(attempts=Email.attempts + 1, next_at=now() + pause)
            .execution_options(synchronize_session=False)
        )
        session.expire(email)
        return session.get(Email, identity) if taken.rowcount == 1 else None  # pyright: ignore[reportAttributeAccessIssue]


def _send(services: Services, email: Email) -> int:
    transport = _choose_transport(services)
    try:
        transport(make_message(services, email))
    except (OSError, smtplib.SMTPException) as error:
        log.warning("an e-mail could not be sent", extra={"email_id": email.id, "error": str(error)})
        with services.database.writing() as session:
            _note_failure(session, email, str(error))
        return 0
    with services.database.writing() as session:
        session.execute(update(Email).where(Email.id == email.id).values(sent=True, ended_at=now(), error=""))
    return 1


def _note_failure(session: Session, email: Email, error: str) -> None:
    given_up = now() if email.attempts >= _TRIES else None
    session.execute(update(Email).where(Email.id == email.id).values(error=error[:1000], ended_at=given_up))


def make_message(services: Services, email: Email) -> EmailMessage:
    """The message as it goes out."""
    message = EmailMessage()
    message["From"] = services.settings.mail_from
    message["To"] = email.to
    message["Subject"] = f"[{services.settings.site_name}] {email.subject}"
    message["Message-ID"] = f"<{email.id}@anyshot>"
    base = services.settings.base_url.rstrip("/")
    body = "\n".join(base + line if line.startswith("/") else line for line in email.body.splitlines())
    message.set_content(body + "\n")
    return message


def _choose_transport(services: Services) -> Callable[[EmailMessage], None]:
    url = services.settings.smtp_url
    if url is None:
        return lambda message: _write_file(services.settings.home / "mail", message)
    return lambda message: _send_by_smtp(url.get_secret_value(), message)


def _write_file(folder: Path, message: EmailMessage) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = str(message["Message-ID"]).strip("<>").partition("@")[0]
    (folder / f"{name}.eml").write_bytes(message.as_bytes())


def _send_by_smtp(url: str, message: EmailMessage) -> None:
    parts = urlsplit(url)
    secure = parts.scheme == "smtps"
    connect = smtplib.SMTP_SSL if secure else smtplib.SMTP
    with connect(parts.hostname or "localhost", parts.port or (465 if secure else 25), timeout=20) as server:
        if parts.username:
            if not secure:
                server.starttls()
            server.login(unquote(parts.username), unquote(parts.password or ""))
        server.send_message(message)

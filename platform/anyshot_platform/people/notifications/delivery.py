"""Sends e-mails: by SMTP, or as files in the embedded set-up.

One that fails is tried again, ever later, and set aside after `TRIES` tries (ended, not sent); operators see it and may
have it tried again. A mail server that cannot be reached is no fault of the e-mails: they wait, and nothing is counted.
"""

import logging
import smtplib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.header import Header
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from anyshot_platform.foundation.background.isolation import DATABASE_IS_AWAY, TRIES, back_off, describe_error
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.people.notifications.letters import CHOICES
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.people.notifications.service import is_due
from anyshot_platform.people.notifications.unsubscribing import address_of
from anyshot_platform.people.users.models import User

log = logging.getLogger(__name__)
_BATCH = 50
_LONGEST_ROUND = 30.0  # seconds; what is left goes out in the next round
_TIMEOUT = 20.0


SayOf = Callable[[Session, Storage, str], str]
"""What is to be said of a submission now, by its id, in any language; empty where there is nothing to say."""


class Transport(Protocol):
    """Takes a message away."""

    def __call__(self, message: EmailMessage) -> None: ...


def send_due_emails(services: Services, say_of: SayOf) -> int:
    """Send the e-mails that are due; returns how many went out. Raises `OSError` if the mail server is away.

    `say_of` says what an e-mail tells of a submission at its sending.
    """
    with services.database.reading() as session:
        due = session.scalars(select(Email.id).where(is_due()).order_by(Email.next_at).limit(_BATCH)).all()
    if not due:
        return 0
    until = time.monotonic() + _LONGEST_ROUND
    with _transport(services) as transport:
        return sum(_send_one(services, transport, say_of, one) for one in due if time.monotonic() < until)


def _send_one(services: Services, transport: Transport, say_of: SayOf, identity: str) -> int:
    email = _take(services, identity)
    if email is None:
        return 0
    try:
        transport(make_message(services, email, say_of))
    except DATABASE_IS_AWAY:
        raise
    except Exception as error:  # whatever this e-mail is made of: the next one goes out
        log.warning("an e-mail could not be sent", extra={"email_id": identity}, exc_info=True)
        _note(services, email, error=describe_error(error), last=email.attempts >= TRIES)
        return 0
    _note(services, email, error="", last=True)
    return 1


def _take(services: Services, identity: str) -> Email | None:
    """Claim an e-mail, so that no two processes send it, until its next try is due."""
    with services.database.writing() as session:
        email = session.get(Email, identity, with_for_update=True)
        if email is None or email.ended_at is not None or email.next_at > now():
            return None
        email.attempts += 1
        email.next_at = now() + back_off(email.attempts)
        return email if _is_wanted(session, email) else None


def _is_wanted(session: Session, email: Email) -> bool:
    """Whether it has a reader still: a digest is begun days before it goes out, to the address of then."""
    if email.digest_of is None:
        return True
    user = session.get_one(User, email.digest_of)
    if not user.email or not user.email_verified_at or user.deleted_at or user.blocked_at:
        session.delete(email)
        return False
    email.to = user.email
    return True


def _note(services: Services, email: Email, *, error: str, last: bool) -> None:
    with services.database.writing() as session:
        session.execute(
            update(Email)
            .where(Email.id == email.id)
            .values(error=error, sent=not error, ended_at=now() if last else None)
        )


class _WholeHeaders(EmailPolicy):
    """Writes headers so that mail programs read what was meant.

    Those about lists stand on one line: a long address would be encoded, and mail programs not find it. A subject with
    other letters than ASCII is encoded as a whole: where only a word of it is, breaking the line doubles its spaces.
    """

    def fold(self, name: str, value: str) -> str:
        if name.startswith("List-"):
            return f"{name}: {value}{self.linesep}"
        if name == "Subject" and not value.isascii():
            return f"{name}: {Header(value, 'utf-8', header_name=name).encode(linesep=self.linesep)}{self.linesep}"
        return super().fold(name, value)

    def fold_binary(self, name: str, value: str) -> bytes:
        return self.fold(name, value).encode("ascii", "surrogateescape")


def make_message(services: Services, email: Email, say_of: SayOf) -> EmailMessage:
    """The message as it goes out."""
    message = EmailMessage(_WholeHeaders())
    message["From"] = services.settings.mail_from
    message["To"] = email.to
    message["Subject"] = f"[{services.settings.site_name}] {email.subject}"
    message["Date"] = format_datetime(email.created_at)
    message["Message-ID"] = f"<{email.id}@anyshot>"
    base = services.settings.base_url
    reader = _reader(services, email)
    if reader is not None:
        message["List-Unsubscribe"] = f"<{base}{address_of(services.signer, reader)}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"  # RFC 8058
    lines = _say_late(services, email, say_of)
    body = "\n".join(base + line if line.startswith("/") else line for line in lines)
    message.set_content(body + "\n")
    return message


def _say_late(services: Services, email: Email, say_of: SayOf) -> list[str]:
    """The lines of the body, each mark in it replaced by what it stands for; without its line where that is nothing."""
    lines = email.body.splitlines()
    for mark, submission_id in email.said_late.items():
        with services.database.reading() as session:
            said = str(say_of(session, services.storage, submission_id))
        lines = [line.replace(mark, said) for line in lines if said or line.strip() != mark]
    return lines


def _reader(services: Services, email: Email) -> str | None:
    """Who may end e-mails like this; none for one that its reader cannot do without, such as a new password."""
    if CHOICES not in email.body.splitlines():
        return None
    with services.database.reading() as session:
        return session.scalar(select(User.id).where(User.email_key == email.to.casefold()))


@contextmanager
def _transport(services: Services) -> Iterator[Transport]:
    url = services.settings.smtp_url
    if url is None:
        folder = services.settings.home / "mail"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield lambda message: _write_file(folder, message)
        return
    server = SmtpServer(url.get_secret_value())
    try:
        server.connect()
        yield server
    finally:
        server.close()


def _write_file(folder: Path, message: EmailMessage) -> None:
    name = str(message["Message-ID"]).strip("<>").partition("@")[0]
    path = folder / f"{name}.eml"
    path.touch(mode=0o600)
    path.write_bytes(message.as_bytes())


class SmtpServer:
    """One connection to the mail server for a batch, opened again where a message ended it."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._server: smtplib.SMTP | None = None

    def connect(self) -> smtplib.SMTP:
        """Connect and log in; raises `OSError` (which smtplib's errors are) if the server does not let us."""
        parts, secure = self._parts, self._parts.scheme == "smtps"
        kind = smtplib.SMTP_SSL if secure else smtplib.SMTP
        server = kind(parts.hostname or "localhost", parts.port or (465 if secure else 25), timeout=_TIMEOUT)
        self._server = server
        if parts.username:
            if not secure:
                server.starttls()
            server.login(unquote(parts.username), unquote(parts.password or ""))
        return server

    def __call__(self, message: EmailMessage) -> None:
        """Send one message; raises what smtplib raises."""
        try:
            (self._server or self.connect()).send_message(message)
        except (OSError, ValueError):
            self.close()  # in an unknown state now
            raise

    def close(self) -> None:
        """End the connection, if there is one."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

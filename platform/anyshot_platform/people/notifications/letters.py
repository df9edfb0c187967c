"""E-mails as they are written: single ones, and digests, which wait for their hour and grow until then."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.zones import find_zone
from anyshot_platform.foundation.background.outbox import mark_outbox
from anyshot_platform.foundation.database import new_id, now
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.people.users.models import MailRhythm, User

HOUR = 8  # of the reader's day, at which a digest goes out
_LONGEST = 50_000  # characters; what comes later stands on the page alone
CHOICES = "/account/notifications"  # where a reader chooses which e-mails they get
_FOOT = "-- \nChoose which e-mails you get:\n/account/notifications\n"
_SUBJECTS = {MailRhythm.DAILY: "Your day", MailRhythm.WEEKLY: "Your week"}


@dataclass(frozen=True)
class Late:
    """What an e-mail says of a submission when it goes out; a line of its own in the body marks it."""

    submission_id: str
    mark: str = field(default_factory=new_id)  # nobody can guess it, so no text of a user has one

    @property
    def row(self) -> dict[str, str]:
        """As `Email.said_late` keeps it."""
        return {self.mark: self.submission_id}


def with_late(body: str, late: Late | None) -> str:
    """A text, and the mark below it."""
    return join_texts((body, late and late.mark), by="\n")


def letter(user: User, *parts: str) -> str:
    """A message as an e-mail; lines that are addresses get the site's own in front when it goes out."""
    greeting = f"Hello {user.display_name or user.username},"
    return "\n\n".join(part for part in (greeting, *parts, _FOOT) if part)


def send_email(session: Session, *, to: str, subject: str, body: str, late: Late | None = None) -> None:
    """Write an e-mail that goes out after the commit."""
    row = late.row if late else {}
    session.add(Email(to=to, subject=" ".join(subject.split())[:200], body=body, said_late=row))
    mark_outbox(session)


def add_to_digest(
    session: Session, user: User, title: str, body: str, url: str, late: Late | None = None
) -> None:
    """Add a message to the user's digest, which is begun where none waits."""
    waiting = _find_digest(session, user)
    item = "\n".join(
        part
        for part in (
            f"* {title}",
            *(f"  {line}" for line in with_late(body, late).splitlines()),
            url,
        )
        if part
    )
    row = late.row if late else {}
    if waiting is None:
        subject = _SUBJECTS[user.mail_rhythm]
        due = next_digest(user.mail_rhythm, user.time_zone, now())
        body = letter(user, "This is what happened:", item)
        begun = Email(to=user.email or "", subject=subject, body=body, said_late=row)
        begun.next_at, begun.digest_of = due, user.id
        session.add(begun)
    elif len(waiting.body) < _LONGEST:
        waiting.body = f"{waiting.body.removesuffix(_FOOT)}{item}\n\n{_FOOT}"
        waiting.said_late = {**waiting.said_late, **row}
    session.flush()


def _find_digest(session: Session, user: User) -> Email | None:
    """The user's digest that waits for its hour, its row locked."""
    return session.scalars(
        select(Email)
        .where(Email.digest_of == user.id, Email.attempts == 0, Email.next_at > now())
        .order_by(Email.next_at)
        .limit(1)
        .with_for_update()
    ).first()


def move_digest(session: Session, user: User) -> None:
    """Let the digest that waits go out as the account's rhythm and time zone are now; at once where it wants none."""
    waiting = _find_digest(session, user)
    if waiting is None:
        return
    if user.mail_rhythm == MailRhythm.AT_ONCE:
        waiting.next_at = now()
        mark_outbox(session)
    else:
        waiting.next_at = next_digest(user.mail_rhythm, user.time_zone, now())
        waiting.subject = _SUBJECTS[user.mail_rhythm]


def next_digest(rhythm: MailRhythm, zone: str, moment: datetime) -> datetime:
    """When the next digest goes out: at eight in the reader's zone, of the next day or the next Monday."""
    here = moment.astimezone(find_zone(zone) or UTC)
    due = here.replace(hour=HOUR, minute=0, second=0, microsecond=0)
    if due <= here:
        due += timedelta(days=1)
    if rhythm == MailRhythm.WEEKLY:
        due += timedelta(days=-due.weekday() % 7)
    return due.astimezone(UTC)

"""Two people change one thing: both changes are kept; where both change one field, the second decides knowingly."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.words import moment_words
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.users.models import User

Fields = Mapping[str, Any]
_RECENT = 200


@dataclass(frozen=True)
class Clash:
    """A field that somebody else changed meanwhile."""

    field: str
    read: Any
    yours: Any
    now: Any
    by: str
    at: str


@dataclass(frozen=True)
class Written:
    """What stands somewhere now, who wrote it (a user's id), and when."""

    value: Any = None
    by: str | None = None
    at: datetime | None = None


Subject = tuple[str, str] | Written


class Stale(Conflict):
    """Somebody else changed the same fields since they were read; the details hold both values.

    `rest`: besides them there are changes that clash with nobody's.
    """

    code = "stale"

    def __init__(self, clashes: list[Clash], *, rest: bool = False) -> None:
        names = ", ".join(clash.field for clash in clashes)
        who = ", ".join(sorted({clash.by for clash in clashes}))
        words = f"{who} changed {names} since you read it."
        super().__init__(words, fields=[asdict(clash) for clash in clashes])
        self.clashes, self.rest = clashes, rest


def seal(fields: Fields) -> str:
    """Fields as a form carries them, to say later what they were."""
    return json.dumps(dict(fields), sort_keys=True, ensure_ascii=False)


def unseal(text: str) -> dict[str, Any] | None:
    """What a form was filled in upon; None for a form that does not say. Raises `Invalid`."""
    try:
        found = json.loads(text) if text else None
    except ValueError:
        found = 0
    if found is not None and not isinstance(found, dict):
        raise Invalid("The form is damaged. Open the page again.")
    return found


def tag_of(fields: Fields) -> str:
    """The entity tag of fields, for `ETag` and `If-Match`."""
    return f'"{hashlib.sha256(seal(fields).encode()).hexdigest()[:32]}"'


def changes(
    session: Session,
    subject: Subject,
    seen: Fields | None,
    sent: Fields,
    current: Fields,
    insist: Fields | None = None,
    keep: bool = False,
) -> dict[str, Any]:
    """The fields of `sent` that are to be written: those that differ from what was `seen`.

    `subject` is the type and id under which the audit log knows the object, or who wrote it last; `insist` has the
    values that somebody was shown and replaces knowingly, or lets stand knowingly (`keep`).

    Raises:
        Stale: somebody else gave one of them another value meanwhile.
    """
    base = current if seen is None else seen
    mine = {name: value for name, value in sent.items() if not _same(value, base.get(name))}
    wanted = {name: value for name, value in mine.items() if not _same(value, current.get(name))}
    known = insist or {}
    moved = [name for name in wanted if not _same(current.get(name), base.get(name))]
    clashing = [name for name in moved if name not in known or known[name] != current.get(name)]
    if clashing:
        clashes = [_clash(session, subject, name, base, sent, current) for name in clashing]
        raise Stale(clashes, rest=len(wanted) > len(clashing))
    return {name: value for name, value in wanted.items() if not (keep and name in known)}


def _same(one: Any, other: Any) -> bool:
    """Whether two values are one: forms change the ends of lines, and take the last one away."""
    if isinstance(one, str) and isinstance(other, str):
        return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
    return bool(one == other)


@dataclass(frozen=True)
class SeenFields:
    """What somebody read before they decided, by name; `insist` has what they were shown and replace knowingly."""

    fields: Fields = field(default_factory=dict)
    insist: Fields = field(default_factory=dict)


NOTHING_SEEN = SeenFields()


def require_seen(session: Session, seen: SeenFields, sent: Fields, there: Mapping[str, Written]) -> None:
    """Raise `Stale` for each decision of `sent` on what somebody else decided otherwise since it was read."""
    moved = [
        name
        for name, value in sent.items()
        if name in seen.fields
        and there[name].value not in (value, seen.fields[name])
        and seen.insist.get(name) != there[name].value
    ]
    if moved:
        raise Stale([_decided(session, name, seen.fields[name], sent[name], there[name]) for name in moved])


def _decided(session: Session, name: str, read: Any, yours: Any, there: Written) -> Clash:
    user = session.get(User, there.by) if there.by else None
    at = moment_words(there.at, "seconds") if there.at else ""
    return Clash(name, read, yours, there.value, user.username if user else "Somebody", at)


def require_tag(session: Session, subject: Subject, tag: str | None, sent: Fields, current: Fields) -> None:
    """Raise `Stale` where a request says what it read (`If-Match`), and that is no longer so."""
    if tag in (None, "*", tag_of(current)):
        return
    other = [name for name in sent if sent[name] != current.get(name)]
    if other:
        raise Stale([_clash(session, subject, name, {}, sent, current) for name in other])


def _clash(
    session: Session, subject: Subject, name: str, base: Fields, sent: Fields, current: Fields
) -> Clash:
    if isinstance(subject, Written):
        return _decided(session, name, base.get(name), sent[name], replace(subject, value=current.get(name)))
    by, at = _who_wrote(session, subject, name)
    return Clash(name, base.get(name), sent[name], current.get(name), by, at)


def _who_wrote(session: Session, subject: tuple[str, str], name: str) -> tuple[str, str]:
    rows = session.execute(
        select(AuditEntry, User.username)
        .outerjoin(User, User.id == AuditEntry.actor_id)
        .where(AuditEntry.object_type == subject[0], AuditEntry.object_id == subject[1])
        .order_by(AuditEntry.id.desc())
        .limit(_RECENT)
    )
    for entry, username in rows:
        if name in entry.after:
            return username or "the platform", moment_words(entry.at, "seconds")
    return "Somebody", ""

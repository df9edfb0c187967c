"""Two people write one thing: the second is told, keeps what they wrote, and may save it on top of what stands now.

The version of an object is the entity tag of the fields that people write: its form carries it, JSON sends it as
`If-Match`, and a write upon another version than the present one is `Stale`.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
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
    """A field that stands otherwise than somebody wants it who did not see that, and who changed it when."""

    field: str
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
    """Somebody else changed this since it was read; the details hold both values of each field.

    `seen` is what its form carries once its reader has seen what stands now. `rest`: besides the clashes there are
    changes that clash with nobody's. `named`: each field has a name that says without its form what it is.
    """

    code = "stale"

    def __init__(self, clashes: list[Clash], seen: str, *, rest: bool = False, named: bool = False) -> None:
        said = [
            f"{clash.by} changed {clash.field if named else 'this'}{clash.at and f' on {clash.at},'}"
            for clash in clashes
        ]
        words = f"{', '.join(dict.fromkeys(said))} after you read it."
        super().__init__(words, fields=[asdict(clash) for clash in clashes])
        self.clashes, self.seen, self.rest = clashes, seen, rest


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


def changes_upon(
    session: Session, subject: Subject, version: str | None, sent: Fields, current: Fields
) -> dict[str, Any]:
    """The fields of `sent` that change something. `version` is the entity tag that they were written upon.

    `subject` is the type and id under which the audit log knows the object, or who wrote it last.

    Raises:
        Stale: something changes, and the object has another version by now; nothing and `*` stand for every version.
    """
    wanted = {name: value for name, value in sent.items() if not is_same(value, current.get(name))}
    if wanted and version and version not in ("*", tag_of(current)):
        by, at = who_wrote(session, subject, current)
        clashes = [Clash(name, value, current.get(name), by, at) for name, value in wanted.items()]
        raise Stale(clashes, tag_of(current))
    return wanted


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are one: forms change the ends of lines, and take the last one away."""
    if isinstance(one, str) and isinstance(other, str):
        return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
    return bool(one == other)


def require_seen(session: Session, seen: Fields, sent: Fields, there: Mapping[str, Written]) -> None:
    """Raise `Stale` for each decision of `sent` on what somebody else decided otherwise since it was `seen`."""
    moved = [
        name for name, value in sent.items() if name in seen and there[name].value not in (value, seen[name])
    ]
    if moved:
        values = {name: there[name].value for name in moved}
        clashes = [
            Clash(name, sent[name], value, *who_wrote(session, there[name], ()))
            for name, value in values.items()
        ]
        raise Stale(clashes, seal({**seen, **values}), named=True)


def who_wrote(session: Session, subject: Subject, names: Collection[str]) -> tuple[str, str]:
    """Who changed one of these fields last, and when."""
    if isinstance(subject, Written):
        user = session.get(User, subject.by) if subject.by else None
        at = moment_words(subject.at, "seconds") if subject.at else ""
        return user.username if user else "Somebody", at
    rows = session.execute(
        select(AuditEntry, User.username)
        .outerjoin(User, User.id == AuditEntry.actor_id)
        .where(AuditEntry.object_type == subject[0], AuditEntry.object_id == subject[1])
        .order_by(AuditEntry.id.desc())
        .limit(_RECENT)
    )
    for entry, username in rows:
        if entry.after.keys() & set(names):
            return username or "the platform", moment_words(entry.at, "seconds")
    return "Somebody", ""

"""Worker tokens, and which worker is calling."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Forbidden, NotFound, NotSignedIn
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.signing import digest_secret, new_secret
from anyshot_platform.judging.workers.models import Worker, WorkerToken

T = TypeVar("T", Worker, WorkerToken)
PREFIX = "anyworker_"
_USE_RECORDED_EVERY = 300.0  # seconds
DAYS = 365  # that a token lasts where nothing else is said


@dataclass(frozen=True)
class Reach:
    """What a token is for: work of one hardware class, of one competition (by id), until a day. None: no limit."""

    hardware_class: str | None = None
    competition_id: str | None = None
    days: int | None = DAYS


EVERYTHING = Reach()


def create_worker_token(
    session: Session, name: str, created_by: str | None = None, reach: Reach = EVERYTHING
) -> str:
    """Create a token for a machine and return its text, which is shown once."""
    secret = PREFIX + new_secret()
    session.add(
        WorkerToken(
            name=name.strip()[:200] or "worker",
            digest=digest_secret(secret),
            created_by=created_by,
            hardware_class=reach.hardware_class or None,
            competition_id=reach.competition_id,
            expires_at=now() + timedelta(days=reach.days) if reach.days else None,
        )
    )
    session.flush()
    return secret


def find_worker_token(session: Session, word: str) -> WorkerToken:
    """A token by its id, or by its name among those not revoked; raises `NotFound`, `Conflict` for several."""
    named = select(WorkerToken).where(WorkerToken.name == word).order_by(WorkerToken.revoked_at.desc())
    found = list(session.scalars(named))
    valid = [token for token in found if token.revoked_at is None]
    return the_one(session.get(WorkerToken, word), valid or found[:1], "There is no such token.")


def the_one(by_id: T | None, named: Sequence[T], none: str) -> T:
    """What is meant by a word: the one with this id, or the only one with this name.

    Raises `NotFound` with the sentence `none`, and `Conflict` where several have the name.
    """
    if by_id is None and len(named) > 1:
        ids = ", ".join(one.id for one in named)
        raise Conflict(f"Several have this name. Say which, by its id: {ids}.")
    if by_id is None and not named:
        raise NotFound(none)
    return by_id or named[0]


def identify_worker(services: Services, secret: str) -> str:
    """The id of the token with this text; raises `NotSignedIn` for one that opens nothing (any more)."""
    with services.database.reading() as session:
        token = session.scalars(
            select(WorkerToken).where(
                WorkerToken.digest == digest_secret(secret),
                WorkerToken.revoked_at.is_(None),
                or_(WorkerToken.expires_at.is_(None), WorkerToken.expires_at > now()),
            )
        ).one_or_none()
    if token is None:
        raise NotSignedIn("The worker's token is unknown, has expired or was revoked.")
    _note_use(services, token)
    return token.id


def _note_use(services: Services, token: WorkerToken) -> None:
    moment = now()
    used = token.last_used_at
    if used is None or (moment - used).total_seconds() > _USE_RECORDED_EVERY:
        with services.database.writing() as session:
            session.execute(update(WorkerToken).where(WorkerToken.id == token.id).values(last_used_at=moment))


def reach_of(session: Session, token_id: str, hardware_class: str) -> str | None:
    """The id of the one competition whose runs a token may have; None: of all.

    Raises:
        Forbidden: the token is for another hardware class than the worker's.
    """
    token = session.get_one(WorkerToken, token_id)
    if token.hardware_class not in (None, hardware_class):
        raise Forbidden(
            f"This token is for workers of class “{token.hardware_class}”; this worker says “{hardware_class}”."
        )
    return token.competition_id

"""Machines that ask to become workers (RFC 8628): their codes, and the token that they collect once let in."""

import re
import secrets
from datetime import timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from anyshot_core.wire.joining import SLOWER_SECONDS, JoinProblem
from anyshot_core.wire.worker_api import WorkerInfo
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import NotFound, PlatformError
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.signing import digest_secret, new_secret
from anyshot_platform.judging.workers.models import WorkerRequest, WorkerToken
from anyshot_platform.judging.workers.tokens import PREFIX

LASTS = timedelta(minutes=10)
INTERVAL = 5  # seconds
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels, so no words
_LENGTH = 8


class NoToken(PlatformError):
    """A machine asked for its token and gets none, or none yet."""

    def __init__(self, problem: JoinProblem, message: str) -> None:
        super().__init__(message)
        self.code = problem.value


def open_request(session: Session, info: WorkerInfo) -> tuple[WorkerRequest, str]:
    """Keep what a machine says of itself, under a new user code; returns it with its device code."""
    device_code = new_secret()
    request = WorkerRequest(
        device_digest=digest_secret(device_code),
        user_code="".join(secrets.choice(_LETTERS) for _ in range(_LENGTH)),
        info=info,
        interval=INTERVAL,
        expires_at=now() + LASTS,
    )
    session.add(request)
    session.flush()
    return request, device_code


def find_request(session: Session, user_code: str) -> WorkerRequest:
    """The request with this code, however it is written; raises `NotFound`."""
    code = re.sub(r"[^A-Z]", "", user_code.upper())
    query = select(WorkerRequest).where(WorkerRequest.user_code == code, WorkerRequest.expires_at > now())
    found = session.scalars(query).one_or_none()
    if found is None:
        raise NotFound(
            f"No machine shows this code. It lasts {LASTS.seconds // 60} minutes; then run anyshot worker join again."
        )
    return found


def collect_token(services: Services, device_code: str) -> str:
    """The text of the token that a machine was given, once.

    Raises:
        NoToken: nobody has entered its code yet, it asks too often, its token is revoked, or its codes are over.
    """
    with services.database.writing() as session:
        query = select(WorkerRequest).where(
            WorkerRequest.device_digest == digest_secret(device_code),
            WorkerRequest.expires_at > now(),
            WorkerRequest.collected_at.is_(None),
        )
        request = session.scalars(query.with_for_update()).one_or_none()
        if request is None:
            found = NoToken(
                JoinProblem.EXPIRED, "These codes are unknown, used, or over. Please ask for new ones."
            )
        else:
            found = _answer(session, request)
    if isinstance(found, NoToken):
        raise found  # only now: when the machine asked is kept
    return found


def _answer(session: Session, request: WorkerRequest) -> str | NoToken:
    moment, last = now(), request.asked_at
    request.asked_at = moment
    if last is not None and (moment - last).total_seconds() < request.interval:
        request.interval += SLOWER_SECONDS
        return NoToken(JoinProblem.SLOW_DOWN, f"Please ask every {request.interval} seconds at most.")
    if request.token_id is None:
        return NoToken(JoinProblem.PENDING, "Nobody has entered the code yet.")
    token = session.get_one(WorkerToken, request.token_id)
    if token.revoked_at is not None:
        return NoToken(JoinProblem.DENIED, "The token of this machine was revoked.")
    request.collected_at = moment
    secret = PREFIX + new_secret()
    token.digest = digest_secret(secret)
    return secret


def forget_old_requests(session: Session) -> None:
    """Remove requests that are over, and revoke the tokens that no machine has collected."""
    over = WorkerRequest.expires_at < now()
    left = select(WorkerRequest.token_id).where(over, WorkerRequest.collected_at.is_(None))
    unrevoked = (WorkerToken.id.in_(left), WorkerToken.revoked_at.is_(None))
    session.execute(update(WorkerToken).where(*unrevoked).values(revoked_at=now()))
    session.execute(delete(WorkerRequest).where(over))

"""Worker tokens, and which worker is calling."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.database import now
from anyshot_platform.errors import NotFound, NotSignedIn
from anyshot_platform.web.access import policy
from anyshot_platform.web.services import ServicesDep
from anyshot_platform.web.signing import digest_secret, new_secret
from anyshot_platform.workers.models import WorkerToken

PREFIX = "anyworker_"
_USE_RECORDED_EVERY = 300.0  # seconds


def create_worker_token(session: Session, name: str, created_by: str | None = None) -> str:
    """Make a token for a machine and return its text, which is shown once."""
    secret = PREFIX + new_secret()
    session.add(
        WorkerToken(name=name.strip()[:200] or "worker", digest=digest_secret(secret), created_by=created_by)
    )
    session.flush()
    return secret


def revoke_worker_token(session: Session, token_id: str) -> None:
    """Make a token worthless from now on; runs that its workers hold go back to the queue when their leases end."""
    token = session.get(WorkerToken, token_id)
    if token is None:
        raise NotFound("There is no such token.")
    token.revoked_at = token.revoked_at or now()


@policy("worker")
def worker_token(request: Request, services: ServicesDep) -> str:
    """Policy: a worker with a valid token; returns the token's id."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.startswith(PREFIX):
        raise NotSignedIn("This needs a worker's token.")
    with services.database.reading() as session:
        token = session.scalars(
            select(WorkerToken).where(
                WorkerToken.digest == digest_secret(secret), WorkerToken.revoked_at.is_(None)
            )
        ).one_or_none()
    if token is None:
        raise NotSignedIn("The worker's token is unknown or was revoked.")
    return token.id


WorkerTokenDep = Annotated[str, Depends(worker_token)]

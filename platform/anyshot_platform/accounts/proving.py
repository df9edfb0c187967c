"""Who does something dangerous proves again who they are: with a code where the account has a second factor, else with
the password. A stolen session or token alone publishes, launches, deletes, bans, grants and reads secrets no more.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from anyshot_platform.accounts import second_factor, service
from anyshot_platform.accounts.security_log import note_event
from anyshot_platform.accounts.service import WrongPassword
from anyshot_platform.budgets.service import spend
from anyshot_platform.database import now
from anyshot_platform.errors import Forbidden, NotSignedIn
from anyshot_platform.kernel.language import say
from anyshot_platform.services import Services
from anyshot_platform.users.models import ApiToken, LoginSession, User
from anyshot_platform.users.viewer import Viewer


class NeedsProof(Forbidden):
    """Too long ago that the viewer said password or code; pages ask for it, programs send it to `/me/proof`."""

    code = "prove"


def require_proof(session: Session) -> None:
    """Raise `NeedsProof` unless the request that this session serves was proved lately.

    Sessions of no request, such as those of the command line on the site's machine, are trusted.
    """
    asked_by = session.info.get("asked_by")
    viewer, minutes = (getattr(asked_by, name, None) for name in ("viewer", "prove_minutes"))
    if viewer is not None and minutes:
        require_fresh(viewer, minutes)


def require_fresh(viewer: Viewer, minutes: float) -> None:
    """Raise `NeedsProof` if the viewer's last proof is older than that; 0 asks never."""
    oldest = now() - timedelta(minutes=minutes)
    if minutes and (viewer.proved_at is None or viewer.proved_at < oldest):
        raise NeedsProof(
            say(
                "You said your password or code more than %(minutes)s minutes ago, and this needs it again. "
                "Programs send it to POST /api/v1/me/proof and repeat the request.",
                minutes=f"{minutes:g}",
            )
        )


def prove(services: Services, viewer: Viewer, text: str) -> None:
    """Take a password or code as proof; raises `WrongPassword`, `WrongCode`, or `TooMany`."""
    spend(services, "proofs", viewer.id)
    try:
        known = _know(services, viewer, text)
        with services.database.writing() as session:
            user = service.as_then(session, known)
            if user.second_factor_since is not None:
                second_factor.use_code(session, services.signer, user, text)
            _mark(session, viewer)
    except NotSignedIn:
        with services.database.writing() as session:
            note_event(session, viewer.id, "account.proof_failed")
        raise


def _know(services: Services, viewer: Viewer, text: str) -> User:
    """The account, with its password checked where that is what proves."""
    with services.database.reading() as session:
        user = session.get_one(User, viewer.id)
    if user.second_factor_since is None:
        if user.password_hash is None:
            raise WrongPassword(say("The password is wrong."))
        service.require_password(services.database, viewer.id, text)
    return user


def _mark(session: Session, viewer: Viewer) -> None:
    table: Any = LoginSession if viewer.session_id is not None else ApiToken
    identity = viewer.session_id or viewer.token_id
    session.execute(update(table).where(table.id == identity).values(proved_at=now()))

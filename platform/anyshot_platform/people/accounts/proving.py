"""Who does something dangerous proves again who they are: with a code where the account has a second factor, else with
the password. What is dangerous is declared: of an act by its `danger`, of a route by the door `proved`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Forbidden, NotSignedIn
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.accounts import second_factor, service
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.accounts.service import WrongPassword
from anyshot_platform.people.rate_limits.service import spend
from anyshot_platform.people.users.models import ApiToken, LoginSession, User
from anyshot_platform.people.users.viewer import Viewer


class NeedsProof(Forbidden):
    """Too long ago that the viewer said password or code; pages ask for it, programs send it to `/me/proof`."""

    code = "prove"


def require_proof(session: Session) -> None:
    """Raise `NeedsProof` unless the request that this session serves was proved lately.

    Sessions of no request, such as those of the command line on the site's machine, are trusted.
    """
    asked_by = session.info.get("asked_by")
    if asked_by is not None and asked_by.viewer is not None:
        require_fresh(asked_by.viewer, asked_by.prove_minutes)


def require_fresh(viewer: Viewer, minutes: float) -> None:
    """Raise `NeedsProof` if the viewer's last proof is older than that."""
    oldest = now() - timedelta(minutes=minutes)
    if viewer.proved_at is None or viewer.proved_at < oldest:
        raise NeedsProof(
            f"You entered your password or code more than {minutes:g} minutes ago, and this needs it "
            "again. Programs send it to POST /api/v1/me/proof and repeat the request."
        )


def prove(services: Services, viewer: Viewer, text: str) -> None:
    """Take a password or code as proof; raises `WrongPassword`, `WrongCode`, or `TooMany`."""
    with _counted(services, viewer):
        known = _know(services, viewer, text)
        with services.database.writing() as session:
            user = service.as_then(session, known)
            if user.second_factor_since is not None:
                second_factor.use_code(session, services.signer, user, text)
            _mark(session, viewer)


def know_password(services: Services, viewer: Viewer, text: str) -> User:
    """The viewer's account, by its password; raises `WrongPassword`, or `TooMany`: a session is no place to guess in.

    An account without a password is known by a log-in that is not long ago; raises `NeedsProof`.
    """
    with services.database.reading() as session:
        user = session.get_one(User, viewer.id)
    if user.password_hash is None:
        require_fresh(viewer, services.settings.prove_minutes)
        return user
    with _counted(services, viewer):
        return service.require_password(services.database, viewer.id, text)


@contextmanager
def _counted(services: Services, viewer: Viewer) -> Iterator[None]:
    """One try of the few that an account has; a failure is noted."""
    spend(services, "proofs", viewer.id)
    try:
        yield
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
            raise WrongPassword("The password is wrong.")
        service.require_password(services.database, viewer.id, text)
    return user


def _mark(session: Session, viewer: Viewer) -> None:
    table: Any = LoginSession if viewer.session_id is not None else ApiToken
    identity = viewer.session_id or viewer.token_id
    session.execute(update(table).where(table.id == identity).values(proved_at=now()))

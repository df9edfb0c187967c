"""A second factor at log-in: codes of an app (TOTP, RFC 6238) and recovery codes for the day the phone is gone.

The app's secret is kept encrypted with a key of the site's, recovery codes as digests; each code works once.
"""

import base64
import logging
import secrets
import time
from dataclasses import dataclass

from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy import delete, or_, update
from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Invalid, NotSignedIn
from anyshot_platform.foundation.signing import Signer, digest_secret
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.users.models import RecoveryCode, User

log = logging.getLogger(__name__)
STEP = 30  # seconds that one code of the app lasts
RECOVERY_CODES = 10
_ENROL_SECONDS = 1800  # how long the page with the QR code may stay open
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # without what is mistaken for something else


class WrongCode(NotSignedIn):
    """The code is wrong, was used before, or has expired."""

    code = "wrong_code"


class SecondFactorNeeded(NotSignedIn):
    """The password is right; the account asks for a code as well."""

    code = "code_needed"


@dataclass(frozen=True)
class Enrolment:
    """What an app needs: the secret, its address as text and as a picture; `sealed` comes back with the first code."""

    secret: str
    picture: str
    sealed: str


def begin_enrolment(signer: Signer, site_name: str, username: str) -> Enrolment:
    """A fresh secret for an app; nothing is kept until a code of it comes back."""
    import pyotp
    import segno
    from pyotp.totp import TOTP

    secret = pyotp.random_base32()
    address = TOTP(secret).provisioning_uri(name=username, issuer_name=site_name)
    picture = segno.make(address, error="m").svg_inline(scale=5, light="white", border=2)
    return Enrolment(secret, picture, _seal(signer, secret))


def _unseal(signer: Signer, sealed: str) -> str:
    """The secret of a page that was shown; raises `Invalid` where it is too old."""
    try:
        return _fernet(signer).decrypt(sealed.encode(), ttl=_ENROL_SECONDS).decode()
    except InvalidToken as error:
        raise Invalid("This page is too old. Start again.", field="code") from error


def turn_on(session: Session, signer: Signer, user: User, sealed: str, code: str) -> list[str]:
    """Ask for codes from now on; returns the recovery codes, which are shown this once.

    Raises:
        Invalid: the page is too old, or the app's code is wrong.
        Conflict: it is on already.
    """
    if user.second_factor_since is not None:
        raise Conflict("Your account has a second factor already. Turn it off first.")
    secret = _unseal(signer, sealed)
    step = _step_of(secret, code)
    if step is None:
        raise Invalid("The code is wrong. Is the clock of your phone right?", field="code")
    user.totp_sealed, user.totp_step, user.second_factor_since = _seal(signer, secret), step, now()
    note_event(session, user.id, "account.second_factor_on")
    return renew_recovery_codes(session, user)


def renew_recovery_codes(session: Session, user: User) -> list[str]:
    """Fresh recovery codes; the former ones stop working."""
    session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user.id))
    codes = [_recovery_code() for _ in range(RECOVERY_CODES)]
    session.add_all(RecoveryCode(user_id=user.id, digest=_digest(user.id, code)) for code in codes)
    session.flush()
    return codes


def turn_off(session: Session, user: User) -> None:
    """Ask for no codes any more."""
    user.totp_sealed = user.totp_step = user.second_factor_since = None
    session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user.id))
    note_event(session, user.id, "account.second_factor_off")


def require_code(session: Session, signer: Signer, user: User, text: str) -> None:
    """Use a code up at a log-in in one request; raises `SecondFactorNeeded` without one, or `WrongCode`."""
    if not text:
        raise SecondFactorNeeded(
            "This account has a second factor: send a code of its app, or a recovery code, along."
        )
    use_code(session, signer, user, text)


def use_code(session: Session, signer: Signer, user: User, text: str) -> None:
    """Use a code of the app or a recovery code up; raises `WrongCode`. Of two at once with one code, one gets in."""
    code = "".join(text.split()).lower()
    of_app = code.isdecimal()
    if not (
        _use_app_code(session, signer, user, code) if of_app else _use_recovery_code(session, user, code)
    ):
        raise WrongCode("The code is wrong, or was used before.")


def _use_app_code(session: Session, signer: Signer, user: User, code: str) -> bool:
    secret = _secret_of(signer, user)
    step = _step_of(secret, code) if secret is not None else None
    if step is None:
        return False
    unused = or_(User.totp_step.is_(None), User.totp_step < step)
    found = session.execute(update(User).where(User.id == user.id, unused).values(totp_step=step))
    return found.rowcount == 1  # pyright: ignore[reportAttributeAccessIssue]


def _secret_of(signer: Signer, user: User) -> str | None:
    """The app's secret; None where the site had another key when it was sealed: no code fits then."""
    try:
        return _fernet(signer).decrypt((user.totp_sealed or "").encode()).decode()
    except InvalidToken:
        log.warning("a second factor was sealed with another ANYSHOT_SECRET_KEY", extra={"user_id": user.id})
        return None


def _use_recovery_code(session: Session, user: User, code: str) -> bool:
    found = session.execute(
        update(RecoveryCode)
        .where(
            RecoveryCode.user_id == user.id,
            RecoveryCode.digest == _digest(user.id, code),
            RecoveryCode.used_at.is_(None),
        )
        .values(used_at=now())
    )
    used = found.rowcount == 1  # pyright: ignore[reportAttributeAccessIssue]
    if used:
        note_event(session, user.id, "account.recovery_code")
    return used


def _step_of(secret: str, code: str) -> int | None:
    """The 30 seconds that the code belongs to, if these are the present, the last or the next ones."""
    from pyotp.totp import TOTP

    present = int(time.time()) // STEP
    app, text = TOTP(secret), "".join(code.split())
    return next(
        (step for step in range(present - 1, present + 2) if app.verify(text, for_time=step * STEP)), None
    )


def _recovery_code() -> str:
    letters = "".join(secrets.choice(_ALPHABET) for _ in range(16))
    return "-".join(letters[at : at + 4] for at in range(0, 16, 4))


def _digest(user_id: str, code: str) -> str:
    return digest_secret(f"{user_id} {code.replace('-', '')}")


def _fernet(signer: Signer) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(signer.key("second factor")))


def _seal(signer: Signer, secret: str) -> str:
    return _fernet(signer).encrypt(secret.encode()).decode()

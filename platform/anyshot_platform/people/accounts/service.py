"""Accounts: sign-up, log-in, sessions of browsers, tokens of programs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from email_validator import EmailNotValidError, validate_email
from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import Database, now
from anyshot_platform.foundation.errors import Conflict, Invalid, NotFound, NotSignedIn
from anyshot_platform.foundation.signing import digest_secret, new_secret
from anyshot_platform.people.accounts import passwords
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.users.models import (
    ApiToken,
    LoginSession,
    OneTimeToken,
    User,
)
from anyshot_platform.people.users.viewer import TOKEN_PREFIX, Scope

_USERNAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{1,30})[A-Za-z0-9]")
_RESERVED = frozenset(
    ("admin", "administrator", "anyshot", "api", "root", "system", "support", "help", "null", "none", "new")
)


LONGEST_TOKEN = timedelta(days=365)
ONLY_ADMINISTRATOR = "The site needs an administrator: name another one first."
# What lets an account in. Rows also hold names of tokens, browsers and, as a link's subject, addresses.


class NameTaken(Conflict):
    """Somebody has this user name already, or the address, where addresses are taken as they are written."""

    code = "name_taken"


class WrongPassword(NotSignedIn):
    """User and password do not belong together; does not say which is wrong."""

    code = "wrong_password"


@dataclass(frozen=True)
class NewSession:
    """A log-in session and the secret for its cookie, which is not kept."""

    session: LoginSession
    secret: str


@dataclass(frozen=True)
class NewToken:
    """An API token and its text, which is shown once."""

    token: ApiToken
    secret: str


def create_user(
    session: Session,
    *,
    username: str,
    email: str | None,
    password: str | None,
    display_name: str = "",
    is_site_admin: bool = False,
    may_organize: bool = False,
    confirmed: bool = True,
) -> User:
    """Create an account; raises `Invalid`, `WeakPassword` or `NameTaken`.

    `confirmed` says that the address is its owner's. Until it is, it is a text that several accounts may hold: nobody
    logs in by it, only links are sent there, and sign-up does not tell whether it is known
    (`people.accounts.confirming`).
    """
    username = check_username(username)
    email = check_email(email) if email else None
    hashed = (
        new_hash(password, username, email) if password is not None else None
    )  # before the transaction begins
    if find_by_name(session, username) is not None:
        raise NameTaken("This user name is taken.", field="username")
    user = User(
        username=username,
        username_key=username.casefold(),
        email=email,
        password_hash=hashed,
        display_name=display_name.strip()[:200],
        is_site_admin=is_site_admin,
        may_organize=may_organize,
    )
    session.add(user)
    if email and confirmed:
        own_address(session, user)
    session.flush()
    return user


def new_hash(password: str, username: str, email: str | None) -> str:
    """The hash of a password that somebody chose; raises `WeakPassword`."""
    passwords.check_password(password, username, (email or "").partition("@")[0])
    return passwords.hash_password(password)


def own_address(session: Session, user: User) -> None:
    """Make the address of an account its own: from now on one logs in by it; raises `NameTaken`."""
    assert user.email is not None
    owner = find_by_address(session, user.email)
    if owner is not None and owner is not user:
        raise NameTaken("This e-mail address has an account already.", field="email")
    user.email_key = user.email.casefold()
    user.email_verified_at = user.email_verified_at or now()


def check_username(username: str) -> str:
    """Return the user name; raise `Invalid` if it breaks the rules."""
    username = username.strip()
    if _USERNAME.fullmatch(username) is None or username.casefold() in _RESERVED:
        raise Invalid(
            (
                "A user name has 3 to 32 characters: letters, digits, dot, hyphen, underscore; it "
                "begins and ends with a letter or digit, and is not a reserved word."
            ),
            field="username",
        )
    return username


def check_email(email: str) -> str:
    """Return the address in normal form; raise `Invalid`. Looks nothing up."""
    if "=?" in email:
        raise Invalid(
            "An address may not hold “=?”: mail programs read what follows as an encoding.",
            field="email",
        )
    try:
        return validate_email(email.strip(), check_deliverability=False, test_environment=True).normalized
    except EmailNotValidError as error:
        raise Invalid(f"This is not an e-mail address: {error}", field="email") from error


def find_by_name(session: Session, name: str) -> User | None:
    """The user of that name, if not deleted."""
    return _find(session, User.username_key == name.strip().casefold())


def find_by_address(session: Session, address: str) -> User | None:
    """The user whose own that e-mail address is, if not deleted."""
    return _find(session, User.email_key == address.strip().casefold())


def find_user(session: Session, name: str) -> User | None:
    """The user of that name or confirmed e-mail address, if not deleted."""
    key = name.strip().casefold()
    return _find(session, or_(User.username_key == key, User.email_key == key))


def find_for_reset(session: Session, name: str) -> User | None:
    """Whom a link by e-mail may let in again: an address that nobody confirmed belongs to its newest account."""
    unconfirmed = func.lower(User.email) == name.strip().lower()
    return find_user(session, name) or _find(session, unconfirmed)


def _find(session: Session, condition: ColumnElement[bool]) -> User | None:
    query = select(User).where(condition, User.deleted_at.is_(None)).order_by(User.id.desc())
    return session.scalars(query.limit(1)).first()


def account_key(session: Session, name: str) -> str:
    """What log-ins by that name or address are counted under: the account, however its name is written."""
    user = find_user(session, name)
    return user.id if user is not None else name.strip().casefold()


# Hashing a password takes a tenth of a second of a core, so it is done outside of transactions: with SQLite nobody
# else could write meanwhile, with PostgreSQL a connection would be held.


def authenticate(database: Database, name: str, password: str) -> User:
    """The user whom name and password fit, as the account was then (`as_then`); raises `WrongPassword`."""
    with database.reading() as session:
        user = find_user(session, name)
    fits = passwords.verify_password(user.password_hash if user else None, password)
    if user is None or not fits or user.blocked_at is not None:
        raise WrongPassword("User name or password is wrong.")
    if user.password_hash is not None and passwords.is_outdated(user.password_hash):
        hashed = passwords.hash_password(password)
        with database.writing() as session:
            user = as_then(session, user)
            user.password_hash = hashed
    return user


def as_then(session: Session, known: User) -> User:
    """The account in this transaction; raises `WrongPassword` if its password changed, or it was blocked, since."""
    user = session.get_one(User, known.id)
    if (
        user.password_hash != known.password_hash
        or user.blocked_at is not None
        or user.deleted_at is not None
    ):
        raise WrongPassword("User name or password is wrong.")
    return user


def require_password(database: Database, user_id: str, password: str) -> User:
    """The account, as it was then, if it has no password or this one; raises `WrongPassword`."""
    with database.reading() as session:
        user = session.get_one(User, user_id)
    if user.password_hash is not None and not passwords.verify_password(user.password_hash, password):
        raise WrongPassword("The password is wrong.")
    return user


def begin_session(session: Session, user: User, *, user_agent: str, days: int) -> NewSession:
    """Sign a browser in."""
    secret = new_secret()
    login = LoginSession(
        user_id=user.id,
        digest=digest_secret(secret),
        user_agent=user_agent[:200],
        expires_at=now() + timedelta(days=days),
    )
    user.last_login_at = now()
    session.add(login)
    session.flush()
    return NewSession(login, secret)


def end_session(session: Session, user_id: str, session_id: str) -> None:
    """Sign a browser out."""
    session.execute(
        update(LoginSession)
        .where(
            LoginSession.id == session_id, LoginSession.user_id == user_id, LoginSession.revoked_at.is_(None)
        )
        .values(revoked_at=now())
    )


def end_all_sessions(session: Session, user_id: str, *, keep: str | None = None) -> None:
    """Sign all browsers of a user out, but one."""
    session.execute(
        update(LoginSession)
        .where(
            LoginSession.user_id == user_id,
            LoginSession.revoked_at.is_(None),
            LoginSession.id != (keep or ""),
        )
        .values(revoked_at=now())
    )


def list_sessions(session: Session, user_id: str) -> Sequence[LoginSession]:
    """The browsers that are signed in, newest first."""
    return session.scalars(
        select(LoginSession)
        .where(
            LoginSession.user_id == user_id,
            LoginSession.revoked_at.is_(None),
            LoginSession.expires_at > now(),
        )
        .order_by(LoginSession.created_at.desc())
    ).all()


def create_token(
    session: Session,
    user_id: str,
    *,
    name: str,
    scopes: Sequence[Scope],
    expires_at: datetime | None = None,
    proved_at: datetime | None = None,
) -> NewToken:
    """Make an API token; it lasts `LONGEST_TOKEN` where nothing else is said.

    `proved_at` is when password or code were said last, by whom it is made for: it does no more than they could.
    """
    if not scopes:
        raise Invalid("A token needs at least one scope.", field="scopes")
    latest = now() + LONGEST_TOKEN
    if expires_at is not None and expires_at <= now():
        raise Invalid("A token must expire in the future.", field="expires_at")
    if expires_at is not None and expires_at > latest + timedelta(days=1):
        raise Invalid(f"A token lasts {LONGEST_TOKEN.days} days at most.", field="expires_at")
    secret = TOKEN_PREFIX + new_secret()
    token = ApiToken(
        user_id=user_id,
        name=name.strip()[:200] or "token",
        digest=digest_secret(secret),
        scopes=sorted({scope.value for scope in scopes}),
        expires_at=expires_at or latest,
        proved_at=proved_at,
    )
    session.add(token)
    session.flush()
    note_event(session, user_id, "token.create", " ".join(token.scopes))
    return NewToken(token, secret)


def list_tokens(session: Session, user_id: str) -> Sequence[ApiToken]:
    """A user's tokens that are not revoked, newest first."""
    return session.scalars(
        select(ApiToken)
        .where(ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
        .order_by(ApiToken.created_at.desc())
    ).all()


def revoke_token(session: Session, user_id: str, token_id: str) -> None:
    """Make a token worthless from now on."""
    token = session.get(ApiToken, token_id)
    if token is None or token.user_id != user_id:
        raise NotFound("There is no such token.")
    token.revoked_at = token.revoked_at or now()
    note_event(session, user_id, "token.revoke")


def change_password(database: Database, known: User, *, new: str, keep_session: str | None = None) -> None:
    """Set a new password of an account whose old one was just asked; other browsers are signed out."""
    hashed = new_hash(new, known.username, known.email)
    with database.writing() as session:
        set_password(session, as_then(session, known), hashed, keep_session=keep_session)


def reset_password(database: Database, secret: str, purpose: str, new: str) -> None:
    """Set a password by a link, which is used up; raises `NotFound`, `WeakPassword`."""
    with database.reading() as session:
        user, _ = _find_one_time_token(session, secret, purpose)
    hashed = new_hash(new, user.username, user.email)
    with database.writing() as session:
        user, _ = redeem_one_time_token(session, secret, purpose)
        set_password(session, user, hashed)
        own_address(session, user)  # the link came to it


def set_password(session: Session, user: User, hashed: str, *, keep_session: str | None = None) -> None:
    """Give an account a password, by its hash: all sessions but one end, all tokens, and all links that were sent."""
    user.password_hash = hashed
    end_all_sessions(session, user.id, keep=keep_session)
    note_event(session, user.id, "account.new_password")
    revoke_all_tokens(session, user.id)  # whoever had the old password may have made some
    void_links(session, user.id)  # and may have asked for another address


def revoke_all_tokens(session: Session, user_id: str) -> None:
    """Make all API tokens of a user worthless."""
    session.execute(
        update(ApiToken)
        .where(ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
        .values(revoked_at=now())
    )


def issue_one_time_token(
    session: Session, user: User, purpose: str, *, hours: float, subject: str = ""
) -> str:
    """Make a link's secret that works once, for a time; older ones of the same purpose stop working."""
    session.execute(
        update(OneTimeToken)
        .where(
            OneTimeToken.user_id == user.id, OneTimeToken.purpose == purpose, OneTimeToken.used_at.is_(None)
        )
        .values(used_at=now())
    )
    secret = new_secret()
    session.add(
        OneTimeToken(
            user_id=user.id,
            purpose=purpose,
            digest=digest_secret(secret),
            subject=subject,
            expires_at=now() + timedelta(hours=hours),
        )
    )
    session.flush()
    return secret


def void_links(session: Session, user_id: str) -> None:
    """Let no link work any more that was sent to the user."""
    session.execute(
        update(OneTimeToken)
        .where(OneTimeToken.user_id == user_id, OneTimeToken.used_at.is_(None))
        .values(used_at=now())
    )


def is_link_for(session: Session, secret: str, purpose: str) -> bool:
    """Whether a link's secret was made for that purpose."""
    made_for = select(OneTimeToken.purpose).where(OneTimeToken.digest == digest_secret(secret))
    return session.scalar(made_for) == purpose


def redeem_one_time_token(session: Session, secret: str, purpose: str) -> tuple[User, str]:
    """The user and subject of a link's secret, which is used up; raises `NotFound`."""
    user, token = _find_one_time_token(session, secret, purpose)
    used = session.execute(  # of several at once, one finds it unused
        update(OneTimeToken)
        .where(OneTimeToken.id == token.id, OneTimeToken.used_at.is_(None))
        .values(used_at=now())
    )
    if used.rowcount != 1:  # pyright: ignore[reportAttributeAccessIssue]
        raise NotFound("This link was used already or has expired.")
    return user, token.subject


def _find_one_time_token(session: Session, secret: str, purpose: str) -> tuple[User, OneTimeToken]:
    mine = OneTimeToken.digest == digest_secret(secret), OneTimeToken.purpose == purpose
    token = session.scalars(select(OneTimeToken).where(*mine)).one_or_none()
    user = session.get(User, token.user_id) if token is not None else None
    if token is None or token.expires_at <= now() or user is None or user.deleted_at is not None:
        raise NotFound("This link was used already or has expired.")
    return user, token


def is_only_administrator(session: Session, user: User) -> bool:
    """Whether the site would have no administrator who can log in without this one."""
    there = User.is_site_admin, User.blocked_at.is_(None), User.deleted_at.is_(None)
    return user.is_site_admin and session.scalar(select(User.id).where(*there, User.id != user.id)) is None

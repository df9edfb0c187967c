"""Log-in by GitHub and ORCID, through authlib: authorization code with PKCE, state bound to the browser."""

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from typing import Any

from authlib.common.errors import AuthlibBaseError
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client
from httpx2 import HTTPError
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import hold
from anyshot_platform.foundation.errors import Conflict, Forbidden, NotFound
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.people.accounts.proving import require_fresh
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.accounts.service import create_user
from anyshot_platform.people.users.models import OAuthIdentity, User
from anyshot_platform.people.users.viewer import Viewer

TIMEOUT = 10.0


class LogInFailed(Forbidden):
    """The other site did not confirm who this is."""

    code = "oauth_failed"


@dataclass(frozen=True)
class Provider:
    """A site that tells who somebody is. Without `user_url` the answer to the code says it."""

    name: str
    label: str
    authorize_url: str
    token_url: str
    scope: str
    user_url: str | None
    subject_key: str
    name_key: str


PROVIDERS = {
    "github": Provider(
        "github",
        "GitHub",
        "https://github.com/login/oauth/authorize",
        "https://github.com/login/oauth/access_token",
        "read:user",
        "https://api.github.com/user",
        "id",
        "login",
    ),
    "orcid": Provider(
        "orcid",
        "ORCID",
        "https://orcid.org/oauth/authorize",
        "https://orcid.org/oauth/token",
        "/authenticate",
        None,
        "orcid",
        "name",
    ),
}


@dataclass(frozen=True)
class OAuthPerson:
    """Who somebody is at a provider."""

    subject: str
    name: str


@dataclass(frozen=True)
class Beginning:
    """Where to send the browser, and what it must bring back."""

    url: str
    state: str
    verifier: str


def _keys(settings: PlatformSettings, name: str) -> tuple[str, str] | None:
    pairs = {
        "github": (settings.github_client_id, settings.github_client_secret),
        "orcid": (settings.orcid_client_id, settings.orcid_client_secret),
    }
    client_id, secret = pairs.get(name, (None, None))
    return (client_id, secret.get_secret_value()) if client_id and secret else None


def offered(settings: PlatformSettings) -> list[tuple[str, str]]:
    """The providers that the operator has set up: (name, label)."""
    return [(name, provider.label) for name, provider in PROVIDERS.items() if _keys(settings, name)]


def _client(settings: PlatformSettings, name: str) -> tuple[Provider, Any]:
    keys, provider = _keys(settings, name), PROVIDERS.get(name)
    if keys is None or provider is None:
        raise NotFound("This site offers no such log-in.")
    client = OAuth2Client(
        keys[0],
        keys[1],
        scope=provider.scope,
        redirect_uri=f"{settings.base_url}/oauth/{name}/callback",
        code_challenge_method="S256",
        token_endpoint_auth_method="client_secret_post",
        timeout=TIMEOUT,
    )
    return provider, client


def begin(settings: PlatformSettings, name: str) -> Beginning:
    """The address at the provider where the user agrees; raises `NotFound`."""
    provider, client = _client(settings, name)
    verifier = generate_token(48)
    with client:
        url, state = client.create_authorization_url(provider.authorize_url, code_verifier=verifier)
    return Beginning(url, state, verifier)


def who_is(settings: PlatformSettings, name: str, *, code: str, verifier: str) -> OAuthPerson:
    """Turn the code that came back into a person; raises `LogInFailed`."""
    provider, client = _client(settings, name)
    try:
        with client:
            headers = {"Accept": "application/json"}
            said: Any = client.fetch_token(
                provider.token_url, code=code, code_verifier=verifier, headers=headers
            )
            if provider.user_url is not None:
                answer = client.get(provider.user_url, headers=headers)
                answer.raise_for_status()
                said = answer.json()
    except (AuthlibBaseError, HTTPError, ValueError) as error:
        raise LogInFailed(f"{provider.label} did not confirm the log-in. Please try again.") from error
    subject = str(said.get(provider.subject_key) or "")
    if not subject:
        raise LogInFailed(f"{provider.label} did not say who you are.")
    return OAuthPerson(subject, str(said.get(provider.name_key) or ""))


def find_or_make_user(
    session: Session, settings: PlatformSettings, name: str, person: OAuthPerson, viewer: Viewer
) -> User:
    """The account of that person: the linked one, the one signed in (which gets linked), or a new one.

    An e-mail address that the provider knows links nothing: whoever holds it there need not hold it here. Raises
    `NeedsProof` before it links: a stolen session would make itself a log-in that outlives it.
    """
    signed_in = viewer.user_id
    known = session.scalars(
        select(OAuthIdentity).where(OAuthIdentity.provider == name, OAuthIdentity.subject == person.subject)
    ).one_or_none()
    if known is not None:
        if signed_in is not None and known.user_id != signed_in:
            raise Conflict("This log-in belongs to another account here.")
        user = session.get_one(User, known.user_id)
        if user.blocked_at is not None or user.deleted_at is not None:
            raise LogInFailed("This account cannot log in.")
        return user
    if signed_in is None and settings.sign_up != "open":
        raise LogInFailed("This site takes no new accounts.")
    if signed_in is not None:
        require_fresh(viewer, settings.prove_minutes)
        note_event(session, signed_in, "account.log_in_added", name)
    user = session.get_one(User, signed_in) if signed_in else _make_user(session, person)
    session.add(OAuthIdentity(user_id=user.id, provider=name, subject=person.subject))
    session.flush()
    return user


@dataclass(frozen=True)
class OtherLogIn:
    """An account elsewhere that logs in here: at which provider, and since when."""

    id: str
    label: str
    created_at: datetime


def list_log_ins(session: Session, user_id: str) -> list[OtherLogIn]:
    """The accounts elsewhere that log in to this one, oldest first."""
    rows = session.scalars(
        select(OAuthIdentity).where(OAuthIdentity.user_id == user_id).order_by(OAuthIdentity.created_at)
    )
    return [OtherLogIn(row.id, PROVIDERS[row.provider].label, row.created_at) for row in rows]


def remove_log_in(session: Session, user_id: str, identity_id: str) -> str:
    """Let an account elsewhere log in no more; its provider's name.

    Raises:
        NotFound: it is none of this account.
        Conflict: it is the only way into the account.
    """
    hold(session, f"account {user_id}")
    row = session.get(OAuthIdentity, identity_id)
    if row is None or row.user_id != user_id:
        raise NotFound("There is no such log-in.")
    ways = session.scalar(select(func.count(OAuthIdentity.id)).where(OAuthIdentity.user_id == user_id)) or 0
    if ways == 1 and session.get_one(User, user_id).password_hash is None:
        raise Conflict("It is the only way into your account: set a password first.")
    session.delete(row)
    note_event(session, user_id, "account.log_in_removed", row.provider)
    return PROVIDERS[row.provider].label


def _make_user(session: Session, person: OAuthPerson) -> User:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", person.name).strip("-._")[:24] or "user"
    base = plain if len(plain) >= 3 else f"user-{plain}"
    for candidate in chain([base], (f"{base}-{number}" for number in count(2))):
        if session.scalar(select(User.id).where(User.username_key == candidate.casefold())) is None:
            return create_user(
                session, username=candidate, email=None, password=None, display_name=person.name
            )
    raise AssertionError("numbers do not end")

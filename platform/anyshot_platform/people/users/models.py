"""Tables of accounts: people, their sessions, tokens, links and failed tries."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, validates

from anyshot_platform.foundation.database import Base, Word, new_id, now
from anyshot_platform.foundation.texts import visible


class MailRhythm(StrEnum):
    """When somebody's messages are sent by e-mail."""

    AT_ONCE = "at_once"
    DAILY = "daily"
    WEEKLY = "weekly"


class User(Base):
    """An account; a deleted one keeps its row, without personal data."""

    __tablename__ = "users"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    username: Mapped[str] = mapped_column(String(64))
    username_key: Mapped[str] = mapped_column(String(64), unique=True)  # case-folded
    email: Mapped[str | None] = mapped_column(String(320))
    email_key: Mapped[str | None] = mapped_column(String(320), unique=True)  # case-folded
    email_verified_at: Mapped[datetime | None]
    totp_sealed: Mapped[str | None] = mapped_column(String(400))  # the app's secret, encrypted
    totp_step: Mapped[int | None]  # of the last code that was used: each works once
    second_factor_since: Mapped[datetime | None]  # None: log-ins ask for no code
    password_hash: Mapped[str | None]  # argon2id; None where only OAuth logs in
    display_name: Mapped[str] = mapped_column(default="")
    affiliation: Mapped[str] = mapped_column(default="")
    country: Mapped[str] = mapped_column(default="")
    homepage: Mapped[str] = mapped_column(default="")
    about: Mapped[str] = mapped_column(Text, default="")
    profile_public: Mapped[bool] = mapped_column(default=False)  # the above, and where they take part
    time_zone: Mapped[str] = mapped_column(String(64), default="UTC")
    mail_rhythm: Mapped[MailRhythm] = mapped_column(Word(MailRhythm), default=MailRhythm.AT_ONCE)
    is_site_admin: Mapped[bool] = mapped_column(default=False)
    may_organize: Mapped[bool] = mapped_column(default=False)  # asked where `organizers` is "granted"
    blocked_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    last_login_at: Mapped[datetime | None]

    @validates("display_name", "affiliation")
    def _shows(self, _: str, text: str) -> str:
        return visible(text)


class LoginSession(Base):
    """A browser that is signed in; the cookie holds a secret, we hold its digest."""

    __tablename__ = "login_sessions"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    user_agent: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    proved_at: Mapped[datetime | None] = mapped_column(default=now)  # password or code were said
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class ApiToken(Base):
    """A token for scripts: shown once, kept as a digest, with scopes, revocable."""

    __tablename__ = "api_tokens"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str]
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime | None]
    proved_at: Mapped[datetime | None]  # password or code were said
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class RecoveryCode(Base):
    """A code that stands in for the app of a second factor, once."""

    __tablename__ = "recovery_codes"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    used_at: Mapped[datetime | None]


class OneTimeToken(Base):
    """A link sent by e-mail that works once: password reset, e-mail address, invitation."""

    __tablename__ = "one_time_tokens"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    purpose: Mapped[str] = mapped_column(String(32))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    subject: Mapped[str] = mapped_column(String(320), default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class OAuthIdentity(Base):
    """An account elsewhere that logs in here."""

    __tablename__ = "oauth_identities"
    __table_args__ = (UniqueConstraint("provider", "subject"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    provider: Mapped[str] = mapped_column(String(32))
    subject: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)


class RateHit(Base):
    """How often a key was used in a window of time."""

    __tablename__ = "rate_hits"
    __table_args__ = (Index("ix_rate_hits_window_start", "window_start"),)

    key: Mapped[str] = mapped_column(String(128), primary_key=True)
    window_start: Mapped[int] = mapped_column(primary_key=True)
    count: Mapped[int] = mapped_column(default=0)

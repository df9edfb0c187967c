"""Deletes an account: what is personal goes, in every part of the platform."""

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.teams import keep_captained
from anyshot_platform.foundation.database import hold, now
from anyshot_platform.foundation.errors import Conflict
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.accounts.service import ONLY_ADMINISTRATOR, is_only_administrator
from anyshot_platform.people.notifications.service import forget_messages
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import (
    ApiToken,
    LoginSession,
    OAuthIdentity,
    OneTimeToken,
    RecoveryCode,
    User,
)
from anyshot_platform.standings.entries.eligibility import forget_answers
from anyshot_platform.standings.results.records import forget_name
from anyshot_platform.standings.results.winners import forget_checks

_SECRETS = (LoginSession, ApiToken, RecoveryCode, OAuthIdentity, OneTimeToken)


def erase_user(session: Session, user: User) -> None:
    """Delete an account: personal data goes, a pseudonym stays where others' records refer to it.

    Raises `Conflict` for the only administrator of the site.
    """
    hold(session, "every user")
    if is_only_administrator(session, user):
        raise Conflict(ONLY_ADMINISTRATOR)
    moment = now()
    forget_messages(session, user)  # while it has its address
    pseudonym = f"deleted-{user.id[-12:]}"
    user.username, user.username_key = pseudonym, pseudonym
    user.email = user.email_key = user.password_hash = user.email_verified_at = None
    user.display_name = user.affiliation = user.country = user.homepage = user.about = ""
    user.is_site_admin = user.profile_public = False
    user.totp_sealed = user.totp_step = user.second_factor_since = None
    user.time_zone = "UTC"
    for secrets in _SECRETS:
        session.execute(delete(secrets).where(secrets.user_id == user.id))
    user.deleted_at = moment
    forget_answers(session, user.id)
    forget_checks(session, user.id)
    forget_name(session, user)
    _leave_teams_to_others(session, user)
    note_event(session, user.id, "account.delete")


def _leave_teams_to_others(session: Session, user: User) -> None:
    """Teams that the user led get another captain, where there is one."""
    for team in session.scalars(select(Team).where(Team.captain_id == user.id, Team.deleted_at.is_(None))):
        keep_captained(session, team)

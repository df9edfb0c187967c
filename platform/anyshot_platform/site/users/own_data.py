"""All that the site holds about an account, for its owner: nothing secret, nothing of others, no hidden score."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.accounts.schemas import TokenOut, UserOut
from anyshot_platform.people.accounts.service import list_tokens
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.notifications.models import Mute, Notification, NotificationChoice
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import LoginSession, OAuthIdentity, User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.running.discussion.models import Post, Thread
from anyshot_platform.site.submissions.rows import make_rows, own_submissions
from anyshot_platform.standings.entries.models import LeagueAnswer


class OwnData(BaseModel):
    """Everything of one account; the zip and log of a submission are downloaded with that submission."""

    account: UserOut
    last_login_at: datetime | None
    second_factor_since: datetime | None
    accounts_elsewhere: list[str]
    memberships: list[dict[str, Any]]
    league_answers: list[dict[str, Any]]
    submissions: list[dict[str, Any]]
    posts: list[dict[str, Any]]
    notifications: list[dict[str, Any]]
    notification_choices: list[dict[str, Any]]
    muted: list[str]
    tokens: list[TokenOut]
    browsers: list[dict[str, Any]]
    record: list[dict[str, Any]]  # what one did, as the audit log keeps it


def read_own_data(session: Session, viewer: Viewer) -> OwnData:
    """The data of the viewer's account."""
    user = session.get_one(User, viewer.id)
    return OwnData(
        account=UserOut.model_validate(user),
        last_login_at=user.last_login_at,
        second_factor_since=user.second_factor_since,
        accounts_elsewhere=list(
            session.scalars(select(OAuthIdentity.provider).where(OAuthIdentity.user_id == user.id))
        ),
        memberships=_memberships(session, user),
        league_answers=_league_answers(session, user),
        submissions=_submissions(session, viewer),
        posts=_posts(session, user),
        notifications=_notifications(session, user),
        notification_choices=_columns(
            session.scalars(select(NotificationChoice).where(NotificationChoice.user_id == user.id)).all(),
            ("kind", "page", "email"),
        ),
        muted=list(
            session.scalars(
                select(Competition.slug)
                .join(Mute, Mute.competition_id == Competition.id)
                .where(Mute.user_id == user.id)
            )
        ),
        tokens=[TokenOut.model_validate(token) for token in list_tokens(session, user.id)],
        browsers=_columns(
            session.scalars(select(LoginSession).where(LoginSession.user_id == user.id)).all(),
            ("user_agent", "created_at", "expires_at", "revoked_at"),
        ),
        record=_columns(
            session.scalars(
                select(AuditEntry).where(AuditEntry.actor_id == user.id).order_by(AuditEntry.id)
            ).all(),
            ("at", "action", "object_type", "object_id", "reason"),
        ),
    )


def _columns(rows: Sequence[object], names: Sequence[str]) -> list[dict[str, Any]]:
    return [{name: getattr(row, name) for name in names} for row in rows]


def _memberships(session: Session, user: User) -> list[dict[str, Any]]:
    """Without what organizers noted for themselves."""
    rows = session.execute(
        select(Membership, Competition.slug, Team.name)
        .join(Competition, Competition.id == Membership.competition_id)
        .outerjoin(Team, Team.id == Membership.team_id)
        .where(Membership.user_id == user.id)
        .order_by(Membership.created_at)
    )
    names = ("role", "status", "status_reason", "terms_version", "terms_accepted_at", "created_at")
    return [{"competition": slug, "team": team, **_columns([row], names)[0]} for row, slug, team in rows]


def _league_answers(session: Session, user: User) -> list[dict[str, Any]]:
    rows = session.execute(
        select(LeagueAnswer, League.name)
        .join(League, League.id == LeagueAnswer.league_id)
        .join(Membership, Membership.id == LeagueAnswer.membership_id)
        .where(Membership.user_id == user.id)
    )
    return [
        {"league": league, "answers": row.answers, "answered_at": row.answered_at} for row, league in rows
    ]


def _submissions(session: Session, viewer: Viewer) -> list[dict[str, Any]]:
    """What one handed in oneself; a score only where its phase shows it."""
    mine = own_submissions(viewer.id).where(Submission.user_id == viewer.id)
    rows = session.scalars(mine.order_by(Submission.created_at)).all()
    names = ("phase_name", "number", "kind", "title", "comment", "tags", "state", "score", "created_at")
    return [
        {"id": row.id, "competition_slug": row.competition, **_columns([row], names)[0]}
        for row in make_rows(session, viewer, rows)
    ]


def _posts(session: Session, user: User) -> list[dict[str, Any]]:
    rows = session.execute(
        select(Post, Thread.title)
        .join(Thread, Thread.id == Post.thread_id)
        .where(Post.author_id == user.id)
        .order_by(Post.created_at)
    )
    names = ("body", "created_at", "edited_at", "deleted_at")
    return [{"thread": title, **_columns([post], names)[0]} for post, title in rows]


def _notifications(session: Session, user: User) -> list[dict[str, Any]]:
    rows = session.scalars(
        select(Notification).where(Notification.user_id == user.id).order_by(Notification.created_at)
    ).all()
    return _columns(rows, ("kind", "title", "body", "url", "created_at", "read_at"))

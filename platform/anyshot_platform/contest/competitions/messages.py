"""Messages to the members and the teams of a competition."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.people.notifications.models import Mute
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.people.teams.models import Team


def tell_team(
    session: Session,
    team_id: str,
    *,
    kind: str,
    title: str,
    body: str = "",
    url: str = "",
    submission_id: str | None = None,
) -> None:
    """Leave every member of a team a message about their competition, as `notify` does."""
    members = members_of_team(session, team_id)
    about = session.scalar(select(Team.competition_id).where(Team.id == team_id))
    notify(
        session,
        members,
        kind=kind,
        title=title,
        body=body,
        url=url,
        about=about,
        submission_id=submission_id,
    )


def tell_members(
    session: Session, competition: Competition, *, kind: str, title: str, body: str = "", path: str = ""
) -> None:
    """Leave every member of a competition a message about it; `path` goes on from the competition's own page."""
    url = f"/competitions/{competition.slug}{path}"
    notify(
        session,
        members_of(session, competition),
        kind=kind,
        title=title,
        body=body,
        url=url,
        about=competition.id,
    )


def members_of(session: Session, competition: Competition) -> Sequence[str]:
    """The users who are told what concerns all members of a competition."""
    query = select(Membership.user_id).where(
        Membership.competition_id == competition.id, Membership.status == MemberStatus.APPROVED
    )
    return session.scalars(query).all()


def members_of_team(session: Session, team_id: str) -> Sequence[str]:
    """The users who are told what concerns a team."""
    query = select(Membership.user_id).where(
        Membership.team_id == team_id, Membership.status == MemberStatus.APPROVED
    )
    return session.scalars(query).all()


def list_muted(session: Session, user_id: str) -> list[Competition]:
    """The competitions that a user muted, by title."""
    query = select(Competition).join(Mute, Mute.competition_id == Competition.id)
    return list(session.scalars(query.where(Mute.user_id == user_id).order_by(Competition.title)))

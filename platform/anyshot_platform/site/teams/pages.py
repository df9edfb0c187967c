"""One's own team in a competition."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.concurrency import Stale, changes_upon, tag_of
from anyshot_platform.contest.competitions.service import require_participant
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.foundation.errors import Conflict, Forbidden, PlatformError
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.teams.actions import joining
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Scope
from anyshot_platform.site.shell.act_frame import ask_which
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.web.access import competition_role
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/team", include_in_schema=False)
Participant = Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT, Scope.ACCOUNT))]
Id = Annotated[str, Path(max_length=32)]


def _own_team(session: Session, access: CompetitionAccess) -> Team:
    return session.get_one(Team, require_participant(access.membership).team_id)


@router.get("")
def show_team(request: Request, access: Participant, session: SessionDep) -> Response:
    """Members, invitations, name."""
    return _show(request, access, session)


def _show(
    request: Request,
    access: CompetitionAccess,
    session: SessionDep,
    problem: PlatformError | None = None,
    values: dict[str, str] | None = None,
) -> Response:
    team = _own_team(session, access)
    competition = access.competition
    return render(
        request,
        "competitions/team.html",
        status_code=problem.status if problem else 200,
        section="competitions",
        head=read_header(session, access),
        tab="team",
        team=team,
        seen=(values or {}).get("seen") or tag_of({"name": team.name}),
        members=[
            {"username": user.username, "name": user.display_name, "captain": user.id == team.captain_id}
            for _, user in joining.list_members(session, team)
        ],
        is_captain=team.captain_id == access.viewer.id,
        team_size=competition.team_size,
        has_fact_sheet=bool(competition.fact_sheet),
        settled=joining.has_submitted(session, team.id),
        sent=joining.open_invitations(session, team_id=team.id, competition_id=competition.id),
        received=joining.open_invitations(session, user_id=access.viewer.id, competition_id=competition.id),
        errors={str(problem.details.get("field", "")): problem.message} if problem else {},
        values=values,
    )


def _back(access: CompetitionAccess, words: str) -> Response:
    return redirect(f"/competitions/{access.competition.slug}/team", flash=words)


@router.post("/name")
def rename(request: Request, access: Participant, session: SessionDep, form: FormDep) -> Response:
    """Change the name on the board."""
    team = _own_team(session, access)
    try:
        sent, current = {"name": form.text("name", 200)}, {"name": team.name}
        name = changes_upon(session, ("team", team.id), form.text("seen"), sent, current).get(
            "name", team.name
        )
        joining.rename(session, team, name, access.viewer.id)
    except Stale as error:
        return ask_which(request, form, error, f"/competitions/{access.competition.slug}/team")
    except PlatformError as error:
        return _show(request, access, session, error, values=form.values())
    return _back(access, "The leaderboard will show the new name.")


@router.post("/invite")
def invite(request: Request, access: Participant, session: SessionDep, form: FormDep) -> Response:
    """Invite a participant."""
    team = _own_team(session, access)
    try:
        joining.invite(session, access.competition, team, access.viewer.id, form.text("username", 320))
    except PlatformError as error:
        return _show(request, access, session, error, values=form.values())
    return _back(access, "Invited. They get a message.")


@router.post("/invitations/{invitation_id}/{act}")
def answer_invitation(
    request: Request, access: Participant, session: SessionDep, invitation_id: Id, act: Id
) -> Response:
    """Accept, decline or take back an invitation."""
    if act == "withdraw":
        joining.withdraw_invitation(session, _own_team(session, access), access.viewer.id, invitation_id)
        return _back(access, "The invitation was withdrawn.")
    accept = act == "accept"
    try:
        joining.answer(session, access.competition, access.viewer.id, invitation_id, accept=accept)
    except (Conflict, Forbidden) as error:
        return _show(request, access, session, error)
    return _back(access, "You have joined the team." if accept else "Declined.")


@router.post("/leave")
def leave(request: Request, access: Participant, session: SessionDep) -> Response:
    """Leave for a team of one's own."""
    try:
        joining.leave(session, access.competition, session.get_one(User, access.viewer.id))
    except PlatformError as error:
        return _show(request, access, session, error)
    return _back(access, "You have left the team and compete on your own now.")

"""The organizers' page of people and teams."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from anyshot_platform.competitions import people
from anyshot_platform.competitions.manage_frame import (
    AsOrganizer,
    AsOwner,
    AsReviewer,
    act,
    manage_path,
    render_manage,
)
from anyshot_platform.competitions.states import MemberStatus, Role
from anyshot_platform.errors import Forbidden, Invalid
from anyshot_platform.web.forms import FormDep
from anyshot_platform.web.paging import PageParam
from anyshot_platform.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/people", include_in_schema=False)


@router.get("")
def show_people(
    request: Request,
    access: AsReviewer,
    session: SessionDep,
    q: str = "",
    status: str = "",
    role: str = "",
    page: PageParam = 1,
) -> Response:
    """Members, filtered and paged."""
    found, place = people.list_people(
        session, access.competition, text=q, status=status, role=role, number=page
    )
    return render_manage(
        request,
        session,
        access,
        "people.html",
        "people",
        heading="People and teams",
        people=found,
        page=place,
        q=q,
        status=status,
        role=role,
        statuses=[word.value for word in MemberStatus],
        roles=[word.value for word in Role],
    )


@router.post("/add")
def add_member(access: AsOwner, session: SessionDep, form: FormDep) -> Response:
    """Make a user organizer, reviewer or participant."""

    def deed() -> None:
        if form.text("role") not in set(Role):
            raise Invalid("Choose a role.")
        people.invite(
            session, access.competition, form.text("username"), form.choice("role", Role), access.viewer.id
        )

    return act(session, manage_path(access, "/people"), "Added.", deed)


@router.post("/{membership_id}/{deed}")
def act_on_member(
    access: AsOrganizer, session: SessionDep, membership_id: str, deed: str, form: FormDep
) -> Response:
    """Approve, reject, ban, lift a ban, note, give a role or quota."""
    membership = people.find_member(session, access.competition, membership_id)
    actor, reason = access.viewer.id, form.text("reason")

    def role() -> None:
        if not access.may(Role.OWNER):
            raise Forbidden("Only owners give roles.")
        if form.text("role") not in set(Role):
            raise Invalid("Choose a role.")
        people.set_role(session, membership, form.choice("role", Role), actor)

    def quota() -> None:
        team = people.find_team(session, access.competition, membership.team_id or "")
        people.change_team(
            session,
            team,
            day=form.number("day") or 0,
            phase=form.number("phase") or 0,
            out_of_ranking=form.flag("out_of_ranking"),
            reason=reason,
            actor_id=actor,
        )

    deeds = {
        "approve": (lambda: people.approve(session, membership, actor), "Approved."),
        "reject": (lambda: people.reject(session, membership, reason, actor), "Turned down."),
        "ban": (lambda: people.ban(session, membership, reason, actor), "Banned; “Approve” lifts it again."),
        "note": (lambda: people.note(session, membership, form.text("note"), actor), "The note is kept."),
        "role": (role, "The role is given."),
        "quota": (quota, "The team's quota is changed."),
    }
    if deed not in deeds:
        raise Invalid("There is no such act.")
    work, message = deeds[deed]
    return act(session, manage_path(access, "/people"), message, work)

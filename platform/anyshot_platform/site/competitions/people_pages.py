"""The organizers' page of people and teams."""

from __future__ import annotations

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.acts.declaration import Deed, Options
from anyshot_platform.competitions.states import MemberStatus, Role
from anyshot_platform.desk.competitions import member_acts, people
from anyshot_platform.desk.competitions.member_acts import Invitation
from anyshot_platform.desk.competitions.moving import MOVE, find_team_named
from anyshot_platform.errors import Forbidden, Invalid
from anyshot_platform.kernel.paging import PageParam
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.site.shell.act_frame import perform
from anyshot_platform.site.shell.manage_frame import (
    AsOrganizer,
    AsOwner,
    AsReviewer,
    act,
    manage_path,
    render_manage,
)
from anyshot_platform.web.forms import FormDep, SentForm
from anyshot_platform.web.rendering import redirect
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
    found, place = people.list_people(session, access, text=q, status=status, role=role, number=page)
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
def add_member(request: Request, access: AsOwner, session: SessionDep, form: FormDep) -> Response:
    """Invite a user as organizer, reviewer or participant; a member gets the role at once."""
    back = manage_path(access, "/people")
    try:
        invitation = Invitation(access.competition, people.find_user(session, form.text("username")))
        wish = Deed(access.viewer.id, form.text("reason"), {"role": form.choice("role", Role)})
    except Invalid as error:
        return redirect(back, flash=error.message, tone="bad")
    return perform(request, session, form, member_acts.INVITE, invitation, wish, back)


_ACTS = {
    "approve": member_acts.APPROVE,
    "reject": member_acts.REJECT,
    "ban": member_acts.BAN,
    "role": member_acts.ROLE,
    "move": MOVE,
}


def _options(session: Session, access: CompetitionAccess, deed: str, form: SentForm) -> Options:
    if deed == "move":
        return {"team": find_team_named(session, access.competition, form.text("team"))}
    return {"role": form.choice("role", Role)} if deed == "role" else {}


@router.post("/{membership_id}/{deed}")
def act_on_member(
    request: Request, access: AsOrganizer, session: SessionDep, membership_id: str, deed: str, form: FormDep
) -> Response:
    """Approve, reject, ban, lift a ban, move, note, give a role or quota."""
    membership = people.find_member(session, access.competition, membership_id)
    actor, reason, back = access.viewer.id, form.text("reason"), manage_path(access, "/people")
    if deed in _ACTS:
        if not access.may(_ACTS[deed].role):
            raise Forbidden("Only owners give roles.")
        try:
            wish = Deed(actor, reason, _options(session, access, deed, form))
        except Invalid as error:
            return redirect(back, flash=error.message, tone="bad")
        return perform(request, session, form, _ACTS[deed], membership, wish, back)

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
        "note": (lambda: people.note(session, membership, form.text("note"), actor), "The note is kept."),
        "quota": (quota, "The team's quota is changed."),
    }
    if deed not in deeds:
        raise Invalid("There is no such act.")
    work, message = deeds[deed]
    return act(session, back, message, work)

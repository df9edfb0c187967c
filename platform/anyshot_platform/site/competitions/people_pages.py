"""The organizers' page of people and teams."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.actions.declaration import by_name
from anyshot_platform.contest.competitions.actions import member_acts, people
from anyshot_platform.contest.competitions.actions.member_acts import Invitation
from anyshot_platform.contest.competitions.actions.moving import ACTS, MANY, UNDO
from anyshot_platform.contest.competitions.actions.people import PeopleFilter
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.paging import PageParam
from anyshot_platform.site.shell.act_frame import perform_named, save_form
from anyshot_platform.site.shell.manage_frame import (
    AsOrganizer,
    AsOwner,
    AsReviewer,
    manage_path,
    render_manage,
)
from anyshot_platform.site.shell.many_frame import Menu, Sent, act_on_many
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/people", include_in_schema=False)

BULK = Menu(
    section="people",
    heading="People and teams",
    noun=("person", "people"),
    acts=MANY,
    words={"approve": "approve", "reject": "reject", "ban": "ban"},
    undo=UNDO,
    name=lambda row: (row.user.username, f"../people?{urlencode({'q': row.user.username})}"),
    stern=frozenset({"reject", "ban"}),
    reasoned=frozenset({"ban"}),
)


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
    found, place = people.list_people(session, access, PeopleFilter(q, status, role), page)
    return render_manage(
        request,
        session,
        access,
        "people.html",
        "people",
        heading="People and teams",
        tag_of=tag_of,
        team_fields=people.team_fields,
        people=found,
        page=place,
        q=q,
        status=status,
        role=role,
        bulk=BULK,
        waiting=people.count_pending(session, access.competition),
        statuses=[word.value for word in MemberStatus],
        roles=[word.value for word in Role],
    )


@router.post("/acts")
def act_on_members(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """One act on the ticked people, or on all that the filters show."""
    wanted = {name: form.text(f"filter_{name}") for name in ("q", "status", "role")}
    kept = urlencode({name: value for name, value in wanted.items() if value})
    back = manage_path(access, "/people") + (f"?{kept}" if kept else "")

    def pick() -> list[Membership]:
        shown = PeopleFilter(*wanted.values()) if form.flag("everything") else None
        return people.pick_members(session, access, form.all("id"), shown)

    return act_on_many(Sent(request, session, access, form, BULK, back), pick)


@router.post("/add")
def add_member(request: Request, access: AsOwner, session: SessionDep, form: FormDep) -> Response:
    """Invite a user as organizer, reviewer or participant; a member gets the role at once."""
    back = manage_path(access, "/people")
    try:
        user = people.find_user(session, form.text("username"))
    except Invalid as error:
        return redirect(back, flash=error.message, tone="bad")
    invitation = Invitation(access.competition, user)
    return perform_named(request, session, form, by_name(member_acts.INVITE), "add", invitation, access, back)


@router.post("/{membership_id}/{act}")
def act_on_member(
    request: Request, access: AsOrganizer, session: SessionDep, membership_id: str, act: str, form: FormDep
) -> Response:
    """Approve, reject, ban, lift a ban, move, note, give a role or quota."""
    membership = people.find_member(session, access.competition, membership_id)
    actor, back = access.viewer.id, manage_path(access, "/people")
    if act in ACTS:
        return perform_named(request, session, form, ACTS, act, membership, access, back)

    def quota() -> None:
        team = people.find_team(session, access.competition, membership.team_id or "")
        sent = {
            "day": form.number("day") or 0,
            "phase": form.number("phase") or 0,
            "out_of_ranking": form.flag("out_of_ranking"),
        }
        people.change_team(session, team, sent, form.text("reason"), actor, form.text("seen"))

    def note() -> None:
        people.note(session, membership, form.text("note"), actor, form.text("seen"))

    changes = {
        "note": (note, "The note is kept."),
        "quota": (quota, "The team's quota is changed."),
    }
    if act not in changes:
        raise Invalid("There is no such act.")
    change, message = changes[act]
    return save_form(request, session, form, back, message, change)

"""The discussion of a competition."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from anyshot_platform.competitions.states import Role
from anyshot_platform.discussion import service
from anyshot_platform.errors import Invalid
from anyshot_platform.kernel.paging import PageParam, page_of
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.web.access import competition_role, visible_competition
from anyshot_platform.web.forms import FormDep
from anyshot_platform.web.rendering import redirect, render
from anyshot_platform.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/discussion", include_in_schema=False)
Visible = Annotated[CompetitionAccess, Depends(visible_competition)]
Participant = Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT))]
Organizer = Annotated[CompetitionAccess, Depends(competition_role(Role.ORGANIZER))]
Id = Annotated[str, Path(max_length=32)]
PAGE_SIZE = 30


@router.get("")
def show_threads(request: Request, access: Visible, session: SessionDep, page: PageParam = 1) -> Response:
    """The threads."""
    place = page_of(page, PAGE_SIZE, service.count_threads(session, access.competition))
    return render(
        request,
        "discussion/list.html",
        section="competitions",
        head=read_header(session, access),
        tab="discussion",
        threads=service.list_threads(session, access.competition, offset=place.offset, limit=PAGE_SIZE),
        page=place,
        may_write=access.may(Role.PARTICIPANT),
        open=access.competition.discussion_open,
    )


@router.get("/new")
def show_new(request: Request, access: Participant, session: SessionDep) -> Response:
    """The form of a new thread."""
    return _show_new(request, access, session, None, {})


def _show_new(
    request: Request,
    access: CompetitionAccess,
    session: SessionDep,
    problem: Invalid | None,
    values: dict[str, str],
) -> Response:
    return render(
        request,
        "discussion/new.html",
        status_code=problem.status if problem else 200,
        section="competitions",
        head=read_header(session, access),
        tab="discussion",
        errors={str(problem.details.get("field", "")): problem.message} if problem else {},
        values=values,
    )


@router.post("/new")
def begin_thread(request: Request, access: Participant, session: SessionDep, form: FormDep) -> Response:
    """Begin a thread."""
    try:
        thread = service.begin_thread(
            session, access, title=form.text("title", 300), body=form.text("body", 30_000)
        )
    except Invalid as error:
        session.rollback()
        return _show_new(request, access, session, error, form.values())
    return redirect(_address(access, thread.id))


@router.get("/{thread_id}")
def show_thread(request: Request, access: Visible, session: SessionDep, thread_id: Id) -> Response:
    """One thread."""
    return _show_thread(request, access, session, thread_id, None, "")


def _show_thread(
    request: Request,
    access: CompetitionAccess,
    session: SessionDep,
    thread_id: str,
    problem: Invalid | None,
    body: str,
) -> Response:
    thread = service.find_thread(session, access.competition, thread_id)
    organizes = access.may(Role.ORGANIZER)
    return render(
        request,
        "discussion/show.html",
        status_code=problem.status if problem else 200,
        section="competitions",
        head=read_header(session, access),
        tab="discussion",
        thread=thread,
        posts=service.read_posts(session, thread, access.viewer.user_id),
        organizes=organizes,
        may_write=access.may(Role.PARTICIPANT)
        and (organizes or (access.competition.discussion_open and not thread.locked)),
        errors={"body": problem.message} if problem else {},
        values={"body": body} if body else {},
    )


@router.post("/{thread_id}/reply")
def reply(
    request: Request, access: Participant, session: SessionDep, thread_id: Id, form: FormDep
) -> Response:
    """Answer."""
    thread = service.find_thread(session, access.competition, thread_id)
    try:
        post = service.reply(session, access, thread, form.text("body", 30_000))
    except Invalid as error:
        return _show_thread(request, access, session, thread_id, error, form.text("body"))
    return redirect(f"{_address(access, thread_id)}#post-{post.id}")


@router.post("/{thread_id}/posts/{post_id}/remove")
def remove(access: Participant, session: SessionDep, thread_id: Id, post_id: Id) -> Response:
    """Remove a post."""
    thread = service.find_thread(session, access.competition, thread_id)
    service.remove_post(session, access, thread, post_id)
    return redirect(_address(access, thread_id), flash="Removed. The organizers can put it back.")


@router.post("/{thread_id}/posts/{post_id}/restore")
def restore(access: Organizer, session: SessionDep, thread_id: Id, post_id: Id) -> Response:
    """Put a post back."""
    thread = service.find_thread(session, access.competition, thread_id)
    service.restore_post(session, access, thread, post_id)
    return redirect(_address(access, thread_id), flash="The post is back.")


@router.post("/{thread_id}/moderate")
def moderate(access: Organizer, session: SessionDep, thread_id: Id, form: FormDep) -> Response:
    """Pin or close a thread."""
    thread = service.find_thread(session, access.competition, thread_id)
    service.moderate(session, access, thread, pinned=form.flag("pinned"), locked=form.flag("locked"))
    return redirect(_address(access, thread_id), flash="Saved.")


def _address(access: CompetitionAccess, thread_id: str) -> str:
    return f"/competitions/{access.competition.slug}/discussion/{thread_id}"

"""The discussion of a competition."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import JSONResponse, Response

from anyshot_platform.actions.concurrency import Stale, tag_of
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.foundation.errors import Forbidden, Invalid
from anyshot_platform.foundation.paging import PageParam
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.users.viewer import Scope
from anyshot_platform.running.discussion import reading, service
from anyshot_platform.running.discussion.models import Thread
from anyshot_platform.site.discussion.references import read_references
from anyshot_platform.site.shell.act_frame import ask_which, save_form
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.web.access import competition_role, visible_competition
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.markdown import markdown
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/competitions/{slug}/discussion", include_in_schema=False)
Visible = Annotated[CompetitionAccess, Depends(visible_competition)]
Participant = Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT, Scope.ACCOUNT))]
Organizer = Annotated[CompetitionAccess, Depends(competition_role(Role.ORGANIZER))]
Id = Annotated[str, Path(max_length=32)]


@router.get("")
def show_threads(
    request: Request,
    access: Visible,
    session: SessionDep,
    page: PageParam = 1,
    q: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """The threads, or those that hold the words that are searched for."""
    text = q.strip()
    threads, place = reading.list_threads(session, access, text, page)
    return render(
        request,
        "discussion/list.html",
        section="competitions",
        head=read_header(session, access),
        tab="discussion",
        threads=threads,
        page=place,
        query=text,
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
    """Start a thread."""
    try:
        thread = service.begin_thread(
            session, access, title=form.text("title", 300), body=form.text("body", 30_000)
        )
    except Invalid as error:
        session.rollback()
        return _show_new(request, access, session, error, form.values())
    return redirect(_address(access, thread.id))


@router.post("/preview")
def preview_post(access: Participant, form: FormDep) -> JSONResponse:
    """A post as its readers will see it, but for links to submissions; nothing is saved."""
    files = f"/competitions/{access.competition.slug}/files/"
    return JSONResponse({"html": str(markdown(form.text("body", 30_000), files)), "problems": []})


@router.get("/{thread_id}")
def show_thread(
    request: Request,
    access: Visible,
    session: SessionDep,
    thread_id: Id,
    quote: Annotated[str, Query(max_length=32)] = "",
) -> Response:
    """One thread; with `quote`, an answer begins with that post's text."""
    quoted = ""
    if quote:
        thread = reading.find_thread(session, access, thread_id)
        quoted = reading.quoted(session, reading.find_post(session, thread, quote))
    return _show_thread(request, access, session, thread_id, None, quoted)


def _show_thread(
    request: Request,
    access: CompetitionAccess,
    session: SessionDep,
    thread_id: str,
    problem: Invalid | None,
    body: str,
) -> Response:
    thread = reading.find_thread(session, access, thread_id)
    organizes = access.may(Role.ORGANIZER)
    posts = reading.read_posts(session, access, thread)
    return render(
        request,
        "discussion/show.html",
        status_code=problem.status if problem else 200,
        section="competitions",
        head=read_header(session, access),
        tab="discussion",
        thread=thread,
        posts=posts,
        seen_answer=tag_of({"accepted": reading.accepted_answer(session, thread)}),
        seen=tag_of(reading.moderation_of(thread)),
        references=read_references(session, access, posts),
        reader=access.viewer.username,
        organizes=organizes,
        may_accept=organizes or thread.author_id == access.viewer.user_id,
        may_write=_may_write(access, thread),
        errors={"body": problem.message} if problem else {},
        values={"body": body} if body else {},
    )


@router.post("/{thread_id}/reply")
def reply(
    request: Request, access: Participant, session: SessionDep, thread_id: Id, form: FormDep
) -> Response:
    """Add a post to a thread."""
    try:
        _, post = service.reply(session, access, thread_id, form.text("body", 30_000))
    except Invalid as error:
        return _show_thread(request, access, session, thread_id, error, form.text("body"))
    return redirect(f"{_address(access, thread_id)}#post-{post.id}")


@router.get("/{thread_id}/posts/{post_id}/edit")
def show_edit(
    request: Request, access: Participant, session: SessionDep, thread_id: Id, post_id: Id
) -> Response:
    """The form with one's own post."""
    thread = reading.find_thread(session, access, thread_id)
    post = reading.find_post(session, thread, post_id)
    if post.author_id != access.viewer.id:
        raise Forbidden("Only its author can edit a post.")
    return _show_edit(request, access, session, thread, post_id, post.body, None, tag_of({"body": post.body}))


def _show_edit(
    request: Request,
    access: CompetitionAccess,
    session: SessionDep,
    thread: Thread,
    post_id: str,
    body: str,
    problem: Invalid | None,
    seen: str,
    **refused: Any,
) -> Response:
    return render(
        request,
        "discussion/edit.html",
        status_code=problem.status if problem else 200,
        section="competitions",
        head=read_header(session, access),
        tab="discussion",
        thread=thread,
        post_id=post_id,
        body=body,
        seen=seen,
        errors={"body": problem.message} if problem else {},
        **refused,
    )


@router.post("/{thread_id}/posts/{post_id}/edit")
def edit(
    request: Request, access: Participant, session: SessionDep, thread_id: Id, post_id: Id, form: FormDep
) -> Response:
    """Change one's own post."""
    body = form.text("body", 30_000)
    back = f"{_address(access, thread_id)}#post-{post_id}"
    try:
        service.edit_post(session, access, thread_id, post_id, body, form.text("seen"))
    except Stale as error:
        return ask_which(request, form, error, back)
    except Invalid as error:
        thread, read = reading.find_thread(session, access, thread_id), form.text("seen")
        return _show_edit(request, access, session, thread, post_id, body, error, read, values=form.values())
    return redirect(back, flash="Saved.")


@router.post("/{thread_id}/posts/{post_id}/accept")
def accept(
    request: Request, access: Participant, session: SessionDep, thread_id: Id, post_id: Id, form: FormDep
) -> Response:
    """Mark the answer that settles the question, or take the mark back."""
    back, accepted = f"{_address(access, thread_id)}#post-{post_id}", form.flag("accepted")
    version = form.text("seen")
    try:
        service.accept_answer(session, access, thread_id, post_id, accepted=accepted, version=version)
    except Stale as error:
        return ask_which(request, form, error, back)
    return redirect(back)


@router.post("/{thread_id}/posts/{post_id}/remove")
def remove(access: Participant, session: SessionDep, thread_id: Id, post_id: Id) -> Response:
    """Remove a post."""
    thread = service.remove_post(session, access, thread_id, post_id)
    back = _address(access, thread_id if reading.sees(access, thread) else "").rstrip("/")
    return redirect(back, flash="Removed. The organizers can put it back.")


@router.post("/{thread_id}/posts/{post_id}/restore")
def restore(access: Organizer, session: SessionDep, thread_id: Id, post_id: Id) -> Response:
    """Put a post back."""
    service.restore_post(session, access, thread_id, post_id)
    return redirect(_address(access, thread_id), flash="The post is back.")


@router.post("/{thread_id}/moderate")
def moderate(
    request: Request, access: Organizer, session: SessionDep, thread_id: Id, form: FormDep
) -> Response:
    """Pin or close a thread."""
    sent = {name: form.flag(name) for name in ("pinned", "locked")}

    def change() -> None:
        service.moderate(session, access, thread_id, sent, form.text("seen"))

    return save_form(request, session, form, _address(access, thread_id), "Saved.", change)


def _may_write(access: CompetitionAccess, thread: Thread) -> bool:
    open_ = access.competition.discussion_open and not thread.locked
    return access.may(Role.ORGANIZER) or (open_ and access.may(Role.PARTICIPANT))


def _address(access: CompetitionAccess, thread_id: str) -> str:
    return f"/competitions/{access.competition.slug}/discussion/{thread_id}"

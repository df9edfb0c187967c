"""The discussion of a competition over JSON."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.foundation.paging import PageParam
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.users.viewer import Scope
from anyshot_platform.running.discussion import reading, service
from anyshot_platform.running.discussion.models import Thread
from anyshot_platform.site.shell.act_frame import IfMatch
from anyshot_platform.site.web.access import competition_role, visible_competition
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/discussion", tags=["discussion"])
Visible = Annotated[CompetitionAccess, Depends(visible_competition)]
Participant = Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT, Scope.ACCOUNT))]
Organizer = Annotated[CompetitionAccess, Depends(competition_role(Role.ORGANIZER))]
Id = Annotated[str, Path(max_length=32)]


class ThreadIn(BaseModel):
    """A new thread."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(max_length=300)
    body: str = Field(max_length=30_000, description="Markdown")


class PostIn(BaseModel):
    """The text of a post."""

    model_config = ConfigDict(extra="forbid")

    body: str = Field(max_length=30_000, description="Markdown")


class ModerationIn(BaseModel):
    """Whether a thread stands first, and whether participants may no longer write in it."""

    model_config = ConfigDict(extra="forbid")

    pinned: bool
    locked: bool


class ThreadsOut(BaseModel):
    """A page of the list."""

    total: int
    threads: list[reading.ThreadLine]


class ThreadOut(BaseModel):
    """A thread with its posts."""

    id: str
    title: str
    pinned: bool
    locked: bool
    removed: bool = Field(description="its first post was removed: only organizers see it")
    posts: list[reading.PostView]
    etag: str = Field(description="of the accepted answer, for `If-Match` of another")
    moderation_etag: str = Field(description="of `pinned` and `locked`, for `If-Match` of a change")


@router.get("")
def list_threads(
    access: Visible,
    session: SessionDep,
    page: PageParam = 1,
    q: Annotated[str, Query(max_length=100, description="only threads that hold these words")] = "",
) -> ThreadsOut:
    """The threads: pinned ones first, then by their latest post."""
    lines, place = reading.list_threads(session, access, q.strip(), page)
    return ThreadsOut(total=place.total, threads=lines)


@router.post("", status_code=201)
def begin_thread(access: Participant, session: SessionDep, body: ThreadIn) -> ThreadOut:
    """Start a thread with its first post."""
    return _show(session, access, service.begin_thread(session, access, title=body.title, body=body.body))


@router.get("/{thread_id}")
def show_thread(access: Visible, session: SessionDep, thread_id: Id) -> ThreadOut:
    """A thread with its posts."""
    return _show(session, access, reading.find_thread(session, access, thread_id))


@router.put("/{thread_id}/moderation")
def moderate(
    access: Organizer, session: SessionDep, thread_id: Id, body: ModerationIn, if_match: IfMatch = None
) -> ThreadOut:
    """Pin or close a thread, or undo that."""
    return _show(session, access, service.moderate(session, access, thread_id, body.model_dump(), if_match))


@router.post("/{thread_id}/posts", status_code=201)
def reply(access: Participant, session: SessionDep, thread_id: Id, body: PostIn) -> ThreadOut:
    """Answer."""
    return _show(session, access, service.reply(session, access, thread_id, body.body)[0])


@router.patch("/{thread_id}/posts/{post_id}")
def edit(
    access: Participant,
    session: SessionDep,
    thread_id: Id,
    post_id: Id,
    body: PostIn,
    if_match: IfMatch = None,
) -> ThreadOut:
    """Change one's own post; organizers see what it said before."""
    return _show(session, access, service.edit_post(session, access, thread_id, post_id, body.body, if_match))


@router.put("/{thread_id}/posts/{post_id}/accepted")
def accept(
    access: Participant, session: SessionDep, thread_id: Id, post_id: Id, if_match: IfMatch = None
) -> ThreadOut:
    """Accept a post as the answer: who began the thread may, and organizers."""
    thread = service.accept_answer(session, access, thread_id, post_id, accepted=True, version=if_match)
    return _show(session, access, thread)


@router.delete("/{thread_id}/posts/{post_id}/accepted")
def take_back(access: Participant, session: SessionDep, thread_id: Id, post_id: Id) -> ThreadOut:
    """Accept it no longer."""
    return _show(session, access, service.accept_answer(session, access, thread_id, post_id, accepted=False))


@router.delete("/{thread_id}/posts/{post_id}")
def remove(access: Participant, session: SessionDep, thread_id: Id, post_id: Id) -> ThreadOut:
    """Remove a post: its author may, and organizers. Its place stays.

    With the first post goes the thread, for all but organizers, unless its author removed it and others had answered.
    """
    return _show(session, access, service.remove_post(session, access, thread_id, post_id))


@router.post("/{thread_id}/posts/{post_id}/restore")
def restore(access: Organizer, session: SessionDep, thread_id: Id, post_id: Id) -> ThreadOut:
    """Put a removed post back, with the first one the thread."""
    return _show(session, access, service.restore_post(session, access, thread_id, post_id))


def _show(session: Session, access: CompetitionAccess, thread: Thread) -> ThreadOut:
    session.flush()
    return ThreadOut(
        id=thread.id,
        title=thread.title,
        pinned=thread.pinned,
        locked=thread.locked,
        removed=thread.deleted_at is not None,
        posts=reading.read_posts(session, access, thread),
        etag=tag_of({"accepted": reading.accepted_answer(session, thread)}),
        moderation_etag=tag_of(reading.moderation_of(thread)),
    )

"""Threads and posts of a competition's discussion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.audit import service as audit
from anyshot_platform.competitions.models import Competition, Membership
from anyshot_platform.competitions.states import Role
from anyshot_platform.database import now
from anyshot_platform.discussion.models import Post, Thread
from anyshot_platform.errors import Conflict, Forbidden, Invalid, NotFound
from anyshot_platform.kernel.texts import visible
from anyshot_platform.notifications.service import notify
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.users.models import User

LONGEST_POST = 20_000


class DiscussionClosed(Conflict):
    """Nothing can be written here."""

    code = "discussion_closed"


@dataclass(frozen=True)
class ThreadLine:
    """A thread in the list."""

    id: str
    title: str
    author: str
    pinned: bool
    locked: bool
    replies: int
    last_post_at: datetime


@dataclass(frozen=True)
class PostView:
    """A post with what its reader may do."""

    id: str
    author: str
    by_organizer: bool
    body: str
    created_at: datetime
    edited_at: datetime | None
    removed: bool
    own: bool


def list_threads(session: Session, competition: Competition, *, offset: int, limit: int) -> list[ThreadLine]:
    """Pinned threads first, then those with the latest posts."""
    replies = (
        select(func.count(Post.id))
        .where(Post.thread_id == Thread.id, Post.deleted_at.is_(None))
        .correlate(Thread)
        .scalar_subquery()
    )
    rows = session.execute(
        select(Thread, User.username, replies)
        .join(User, User.id == Thread.author_id)
        .where(Thread.competition_id == competition.id, Thread.deleted_at.is_(None))
        .order_by(Thread.pinned.desc(), Thread.last_post_at.desc())
        .offset(offset)
        .limit(limit)
    )
    return [
        ThreadLine(
            thread.id,
            thread.title,
            author,
            thread.pinned,
            thread.locked,
            max(posts - 1, 0),
            thread.last_post_at,
        )
        for thread, author, posts in rows
    ]


def count_threads(session: Session, competition: Competition) -> int:
    """How many threads there are."""
    query = select(func.count(Thread.id)).where(
        Thread.competition_id == competition.id, Thread.deleted_at.is_(None)
    )
    return session.scalar(query) or 0


def find_thread(session: Session, competition: Competition, thread_id: str) -> Thread:
    """The thread; raises `NotFound`."""
    thread = session.get(Thread, thread_id)
    if thread is None or thread.competition_id != competition.id or thread.deleted_at is not None:
        raise NotFound("There is no such thread.")
    return thread


def read_posts(session: Session, thread: Thread, viewer_id: str | None) -> list[PostView]:
    """The posts in order; removed ones keep their place without their text."""
    organizers = set(
        session.scalars(
            select(Membership.user_id).where(
                Membership.competition_id == thread.competition_id,
                Membership.role.in_([Role.OWNER, Role.ORGANIZER]),
            )
        )
    )
    rows = session.execute(
        select(Post, User.username)
        .join(User, User.id == Post.author_id)
        .where(Post.thread_id == thread.id)
        .order_by(Post.created_at, Post.id)
    )
    return [
        PostView(
            id=post.id,
            author=author,
            by_organizer=post.author_id in organizers,
            body="" if post.deleted_at else post.body,
            created_at=post.created_at,
            edited_at=post.edited_at,
            removed=post.deleted_at is not None,
            own=post.author_id == viewer_id,
        )
        for post, author in rows
    ]


def begin_thread(session: Session, access: CompetitionAccess, *, title: str, body: str) -> Thread:
    """Begin a thread with its first post."""
    _require_open(access)
    title = visible(title)
    if not 3 <= len(title) <= 200:
        raise Invalid("A title has 3 to 200 characters.", field="title")
    thread = Thread(competition_id=access.competition.id, title=title, author_id=access.viewer.id)
    session.add(thread)
    session.flush()
    _add_post(session, thread, access.viewer.id, body)
    return thread


def reply(session: Session, access: CompetitionAccess, thread: Thread, body: str) -> Post:
    """Answer in a thread; those who wrote in it before are told."""
    _require_open(access)
    if thread.locked and not access.may(Role.ORGANIZER):
        raise DiscussionClosed("The organizers have closed this thread.")
    post = _add_post(session, thread, access.viewer.id, body)
    others: Sequence[str] = session.scalars(
        select(Post.author_id)
        .where(Post.thread_id == thread.id, Post.author_id != access.viewer.id, Post.deleted_at.is_(None))
        .distinct()
    ).all()
    notify(
        session,
        others,
        kind="discussion.reply",
        title=f"{access.viewer.username} answered in “{thread.title}”",
        body=post.body[:500],
        url=f"/competitions/{access.competition.slug}/discussion/{thread.id}#post-{post.id}",
    )
    return post


def remove_post(session: Session, access: CompetitionAccess, thread: Thread, post_id: str) -> None:
    """Remove a post: its author may, and organizers. Its place stays, and organizers can put it back."""
    post = _find_post(session, thread, post_id)
    if post.author_id != access.viewer.id and not access.may(Role.ORGANIZER):
        raise Forbidden("Only its author and the organizers may remove a post.")
    if post.deleted_at is None:
        post.deleted_at = now()
        _record(session, access, "discussion.remove_post", "post", post.id)


def restore_post(session: Session, access: CompetitionAccess, thread: Thread, post_id: str) -> None:
    """Undo the removal of a post."""
    if not access.may(Role.ORGANIZER):
        raise Forbidden("Only organizers may put a post back.")
    post = _find_post(session, thread, post_id)
    post.deleted_at = None
    _record(session, access, "discussion.restore_post", "post", post.id)


def moderate(
    session: Session, access: CompetitionAccess, thread: Thread, *, pinned: bool, locked: bool
) -> None:
    """Pin or close a thread."""
    if not access.may(Role.ORGANIZER):
        raise Forbidden("Only organizers may do this.")
    thread.pinned, thread.locked = pinned, locked
    _record(session, access, "discussion.moderate", "thread", thread.id)


def _find_post(session: Session, thread: Thread, post_id: str) -> Post:
    post = session.get(Post, post_id)
    if post is None or post.thread_id != thread.id:
        raise NotFound("There is no such post.")
    return post


def _require_open(access: CompetitionAccess) -> None:
    if not access.may(Role.PARTICIPANT):
        raise Forbidden("Join the competition to take part in its discussion.")
    if not access.competition.discussion_open and not access.may(Role.ORGANIZER):
        raise DiscussionClosed("The organizers have closed the discussion.")


def _add_post(session: Session, thread: Thread, author_id: str, body: str) -> Post:
    body = body.strip()
    if not body:
        raise Invalid("Please write something.", field="body")
    if len(body) > LONGEST_POST:
        raise Invalid(f"A post has at most {LONGEST_POST:,} characters.", field="body")
    post = Post(thread_id=thread.id, author_id=author_id, body=body)
    thread.last_post_at = now()
    session.add(post)
    session.flush()
    return post


def _record(session: Session, access: CompetitionAccess, action: str, kind: str, identity: str) -> None:
    audit.record(
        session,
        actor_id=access.viewer.id,
        action=action,
        object_type=kind,
        object_id=identity,
        competition_id=access.competition.id,
    )

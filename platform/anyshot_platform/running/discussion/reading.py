"""What readers see of a discussion: the list of threads, what a search finds, the posts of a thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field
from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.words import moment_words
from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.paging import Page, page_of
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.users.models import User
from anyshot_platform.running.discussion.models import Post, PostEdit, Thread

_PAGE_SIZE = 30
_EXCERPT = 160  # characters around what a search found


@dataclass(frozen=True)
class ThreadLine:
    """A thread in the list; after a search, `found` is the post that holds the words, `excerpt` what is around them."""

    id: str
    title: str
    author: str
    pinned: bool
    locked: bool
    answered: bool
    removed: Annotated[bool, Field(description="its first post was removed: only organizers see it")]
    replies: int
    last_post_at: datetime
    found: str
    excerpt: str


@dataclass(frozen=True)
class EarlierText:
    """What a post said until `until`."""

    body: str
    until: datetime


@dataclass(frozen=True)
class PostView:
    """A post; `earlier` texts are shown to organizers only."""

    id: str
    author: str
    by_organizer: bool
    body: str
    created_at: datetime
    edited_at: datetime | None
    accepted: bool
    removed: bool
    earlier: tuple[EarlierText, ...]
    etag: Annotated[str, Field(description="for `If-Match` of a change of its text")]


def list_threads(
    session: Session, access: CompetitionAccess, text: str, number: int
) -> tuple[list[ThreadLine], Page]:
    """One page: pinned threads first, then those with the latest posts; with a text, those that hold it."""
    conditions = _matching(access, text)
    total = session.scalar(select(func.count(Thread.id)).where(*conditions)) or 0
    page = page_of(number, _PAGE_SIZE, total)
    shown = (Post.thread_id == Thread.id, Post.deleted_at.is_(None))
    replies = select(func.count(Post.id)).where(*shown).correlate(Thread).scalar_subquery()
    answered = select(Post.id).where(*shown, Post.accepted_at.is_not(None)).correlate(Thread).exists()
    rows = session.execute(
        select(Thread, User.username, replies, answered)
        .join(User, User.id == Thread.author_id)
        .where(*conditions)
        .order_by(Thread.pinned.desc(), Thread.last_post_at.desc())
        .offset(page.offset)
        .limit(_PAGE_SIZE)
    ).all()
    found = _find_posts(session, [row[0].id for row in rows], text) if text else {}
    lines = [
        ThreadLine(
            thread.id,
            thread.title,
            author,
            thread.pinned,
            thread.locked,
            is_answered,
            thread.deleted_at is not None,
            max(posts - 1 + (thread.deleted_at is not None), 0),
            thread.last_post_at,
            *found.get(thread.id, ("", "")),
        )
        for thread, author, posts, is_answered in rows
    ]
    return lines, page


def sees(access: CompetitionAccess, thread: Thread) -> bool:
    """Whether a reader sees the thread: one whose first post was removed, only who may put that back."""
    return thread.deleted_at is None or access.may(Role.ORGANIZER)


def _matching(access: CompetitionAccess, text: str) -> list[ColumnElement[bool]]:
    conditions = [Thread.competition_id == access.competition.id]
    if not access.may(Role.ORGANIZER):
        conditions.append(Thread.deleted_at.is_(None))
    if text:
        said = select(Post.id).where(
            Post.thread_id == Thread.id,
            Post.deleted_at.is_(None),
            Post.body.icontains(text, autoescape=True),
        )
        title = Thread.title.icontains(text, autoescape=True)
        conditions.append(or_(title, said.correlate(Thread).exists()))
    return conditions


def _find_posts(session: Session, thread_ids: Sequence[str], text: str) -> dict[str, tuple[str, str]]:
    """The first post of each thread that holds the text, with what is around it; by thread."""
    rows = session.scalars(
        select(Post)
        .where(
            Post.thread_id.in_(thread_ids),
            Post.deleted_at.is_(None),
            Post.body.icontains(text, autoescape=True),
        )
        .order_by(Post.created_at.desc(), Post.id.desc())
    )
    return {post.thread_id: (post.id, _around(post.body, text)) for post in rows}


def _around(body: str, text: str) -> str:
    """Some of a text around words in it."""
    place = max(body.casefold().find(text.casefold()), 0)
    start = max(place - _EXCERPT // 2, 0)
    piece = " ".join(body[start : start + _EXCERPT].split())
    return ("… " if start else "") + piece + (" …" if start + _EXCERPT < len(body) else "")


def find_thread(session: Session, access: CompetitionAccess, thread_id: str) -> Thread:
    """The thread; raises `NotFound`, also where its reader does not see it."""
    thread = session.get(Thread, thread_id)
    if thread is None or thread.competition_id != access.competition.id or not sees(access, thread):
        raise NotFound("There is no such thread.")
    return thread


def find_post(session: Session, thread: Thread, post_id: str) -> Post:
    """A post of the thread, removed or not; raises `NotFound`."""
    post = session.get(Post, post_id)
    if post is None or post.thread_id != thread.id:
        raise NotFound("There is no such post.")
    return post


def first_post_id(session: Session, thread: Thread) -> str | None:
    """The id of the post that began the thread."""
    return session.scalar(
        select(Post.id).where(Post.thread_id == thread.id).order_by(Post.created_at, Post.id).limit(1)
    )


def quoted(session: Session, post: Post) -> str:
    """The beginning of an answer that quotes a post; of one that was removed nothing is told."""
    if post.deleted_at is not None:
        return ""
    author = session.get_one(User, post.author_id).username
    lines = "\n".join(f"> {line}".rstrip() for line in post.body.splitlines())
    return f"{author}:\n\n{lines}\n\n"


def read_posts(session: Session, access: CompetitionAccess, thread: Thread) -> list[PostView]:
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
    earlier = _earlier_texts(session, thread) if access.may(Role.ORGANIZER) else {}
    return [
        PostView(
            id=post.id,
            author=author,
            by_organizer=post.author_id in organizers,
            body=(body := "" if post.deleted_at else post.body),
            created_at=post.created_at,
            edited_at=post.edited_at,
            accepted=post.accepted_at is not None and post.deleted_at is None,
            removed=post.deleted_at is not None,
            earlier=tuple(earlier.get(post.id, ())),
            etag=tag_of({"body": body}),
        )
        for post, author in rows
    ]


def moderation_of(thread: Thread) -> dict[str, bool]:
    """What organizers set of a thread."""
    return {"pinned": thread.pinned, "locked": thread.locked}


def accepted_answer(session: Session, thread: Thread) -> str:
    """The answer that settles a thread, as words that tell it from others; empty without one."""
    query = select(Post).where(Post.thread_id == thread.id, Post.accepted_at.is_not(None))
    post = session.scalars(query.where(Post.deleted_at.is_(None)).limit(1)).one_or_none()
    return name_answer(session, post) if post else ""


def name_answer(session: Session, post: Post) -> str:
    """A post by its author and moment."""
    return f"{session.get_one(User, post.author_id).username}, {moment_words(post.created_at, 'seconds')}"


def _earlier_texts(session: Session, thread: Thread) -> Mapping[str, list[EarlierText]]:
    """What the posts of a thread said before, newest first, by post."""
    found: dict[str, list[EarlierText]] = {}
    rows = session.scalars(
        select(PostEdit)
        .join(Post, Post.id == PostEdit.post_id)
        .where(Post.thread_id == thread.id)
        .order_by(PostEdit.replaced_at.desc(), PostEdit.id)
    )
    for row in rows:
        found.setdefault(row.post_id, []).append(EarlierText(row.body, row.replaced_at))
    return found

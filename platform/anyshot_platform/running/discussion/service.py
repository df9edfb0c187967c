"""What people do in a discussion: begin threads, answer, edit, accept an answer, remove, moderate."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import Written, changes_upon
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Forbidden, Invalid
from anyshot_platform.foundation.filters import decimal
from anyshot_platform.foundation.plain_text import plain
from anyshot_platform.foundation.texts import visible
from anyshot_platform.judging.visibility.access import CompetitionAccess, is_shown
from anyshot_platform.people.audit import service as audit
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.people.users.models import User
from anyshot_platform.running.discussion.models import Post, PostEdit, Thread
from anyshot_platform.running.discussion.reading import (
    accepted_answer,
    find_post,
    find_thread,
    first_post_id,
    moderation_of,
    name_answer,
)

LONGEST_POST = 20_000


class DiscussionClosed(Conflict):
    """Nothing can be written here."""

    code = "discussion_closed"


def begin_thread(session: Session, access: CompetitionAccess, *, title: str, body: str) -> Thread:
    """Start a thread with its first post."""
    _require_open(access)
    title = visible(title)
    if not 3 <= len(title) <= 200:
        raise Invalid("A title has 3 to 200 characters.", field="title")
    thread = Thread(competition_id=access.competition.id, title=title, author_id=access.viewer.id)
    session.add(thread)
    session.flush()
    _add_post(session, thread, access.viewer.id, body)
    return thread


def reply(session: Session, access: CompetitionAccess, thread_id: str, body: str) -> tuple[Thread, Post]:
    """Answer in a thread; those who wrote in it before are told, where they may still see it."""
    thread = find_thread(session, access, thread_id)
    _require_open(access, thread)
    post = _add_post(session, thread, access.viewer.id, body)
    notify(
        session,
        _readers_in(session, access, thread),
        kind="discussion.reply",
        title=f"{access.viewer.username} answered in “{thread.title}”",
        body=plain(post.body)[:500],
        url=f"/competitions/{access.competition.slug}/discussion/{thread.id}#post-{post.id}",
        about=access.competition.id,
    )
    return thread, post


def _readers_in(session: Session, access: CompetitionAccess, thread: Thread) -> Sequence[str]:
    """The others who wrote in a thread and whose post stands, as far as they may see the thread now."""
    competition = access.competition
    members = select(Membership.user_id).where(
        Membership.competition_id == competition.id, Membership.status == MemberStatus.APPROVED
    )
    if thread.deleted_at is not None:
        members = members.where(Membership.role.in_([Role.OWNER, Role.ORGANIZER]))
    elif not is_shown(competition):
        members = members.where(Membership.role != Role.PARTICIPANT)
    administrators = select(User.id).where(User.is_site_admin)
    return session.scalars(
        select(Post.author_id)
        .where(Post.thread_id == thread.id, Post.author_id != access.viewer.id, Post.deleted_at.is_(None))
        .where(or_(Post.author_id.in_(members), Post.author_id.in_(administrators)))
        .distinct()
    ).all()


def edit_post(
    session: Session, access: CompetitionAccess, thread_id: str, post_id: str, body: str, version: str | None
) -> Thread:
    """Change one's own post; what it said before is kept for the organizers.

    `version` and `Stale` are as in `changes_upon`.
    """
    thread = find_thread(session, access, thread_id)
    _require_open(access, thread)
    post = find_post(session, thread, post_id)
    if post.author_id != access.viewer.id:
        raise Forbidden("Only its author can edit a post.")
    if post.deleted_at is not None:
        raise Conflict("This post was removed, so it cannot be edited.")
    body = _check_body(body)
    who = Written(None, post.author_id, post.edited_at)
    if changes_upon(session, who, version, {"body": body}, {"body": post.body}):
        session.add(PostEdit(post_id=post.id, body=post.body))
        post.body, post.edited_at = body, now()
    return thread


def accept_answer(
    session: Session,
    access: CompetitionAccess,
    thread_id: str,
    post_id: str,
    *,
    accepted: bool,
    version: str | None = None,
) -> Thread:
    """Mark a post as the answer to its thread, or take the mark back. Who asked may, and organizers.

    `version` and `Stale` are as in `changes_upon`.
    """
    thread = find_thread(session, access, thread_id)
    if thread.author_id != access.viewer.id and not access.may(Role.ORGANIZER):
        raise Forbidden("Only the organizers and the person who began the thread can accept an answer.")
    _require_open(access, thread)
    post = find_post(session, thread, post_id)
    wanted = {"accepted": name_answer(session, post) if accepted else ""}
    before = {"accepted": accepted_answer(session, thread)}
    changes_upon(session, ("thread", thread.id), version, wanted, before)
    if (post.accepted_at is not None) == accepted:
        return thread
    if post.deleted_at is not None or post.id == first_post_id(session, thread):
        raise Conflict("Choose one of the answers that stand in the thread.")
    session.execute(update(Post).where(Post.thread_id == thread.id).values(accepted_at=None))
    post.accepted_at = now() if accepted else None
    after = {"accepted": post.id if accepted else None}
    _record(session, access, "discussion.accept", "thread", thread.id, after)
    return thread


def remove_post(session: Session, access: CompetitionAccess, thread_id: str, post_id: str) -> Thread:
    """Remove a post: its author may, and organizers. Its place stays, and organizers can put it back.

    With the post that began a thread goes the thread with its title, for all but organizers; its author takes no
    answers of others with it.
    """
    thread = find_thread(session, access, thread_id)
    post = find_post(session, thread, post_id)
    if post.author_id != access.viewer.id and not access.may(Role.ORGANIZER):
        raise Forbidden("Only its author and the organizers may remove a post.")
    if post.deleted_at is None:
        post.deleted_at = now()
        if post.id == first_post_id(session, thread) and (
            access.may(Role.ORGANIZER) or not _answered_by_others(session, thread)
        ):
            thread.deleted_at = post.deleted_at
        _record(session, access, "discussion.remove_post", "post", post.id)
    return thread


def _answered_by_others(session: Session, thread: Thread) -> bool:
    """Whether a post stands in the thread that somebody else than its author wrote."""
    others = select(Post.id).where(
        Post.thread_id == thread.id, Post.author_id != thread.author_id, Post.deleted_at.is_(None)
    )
    return session.scalar(others.limit(1)) is not None


def restore_post(session: Session, access: CompetitionAccess, thread_id: str, post_id: str) -> Thread:
    """Undo the removal of a post, and of the thread that it began."""
    if not access.may(Role.ORGANIZER):
        raise Forbidden("Only organizers may put a post back.")
    thread = find_thread(session, access, thread_id)
    post = find_post(session, thread, post_id)
    if post.deleted_at is not None:
        post.deleted_at = None
        if post.id == first_post_id(session, thread):
            thread.deleted_at = None
        _record(session, access, "discussion.restore_post", "post", post.id)
    return thread


def moderate(
    session: Session, access: CompetitionAccess, thread_id: str, sent: dict[str, bool], version: str | None
) -> Thread:
    """Pin or close a thread, as `moderation_of` names it; `version` and `Stale` are as in `changes_upon`."""
    if not access.may(Role.ORGANIZER):
        raise Forbidden("Only organizers may do this.")
    thread = find_thread(session, access, thread_id)
    after = changes_upon(session, ("thread", thread.id), version, sent, moderation_of(thread))
    if after:
        for name, value in after.items():
            setattr(thread, name, value)
        _record(session, access, "discussion.moderate", "thread", thread.id, after)
    return thread


def _require_open(access: CompetitionAccess, thread: Thread | None = None) -> None:
    if not access.may(Role.PARTICIPANT):
        raise Forbidden("Join the competition to take part in its discussion.")
    if access.may(Role.ORGANIZER):
        return
    if not access.competition.discussion_open:
        raise DiscussionClosed("The organizers have closed the discussion.")
    if thread is not None and thread.locked:
        raise DiscussionClosed("The organizers have closed this thread.")


def _add_post(session: Session, thread: Thread, author_id: str, body: str) -> Post:
    post = Post(thread_id=thread.id, author_id=author_id, body=_check_body(body))
    thread.last_post_at = now()
    session.add(post)
    session.flush()
    return post


def _check_body(body: str) -> str:
    body = body.strip()
    if not body:
        raise Invalid("Please write something.", field="body")
    if len(body) > LONGEST_POST:
        raise Invalid(
            f"A post has at most {decimal(LONGEST_POST)} characters.",
            field="body",
        )
    return body


def _record(
    session: Session,
    access: CompetitionAccess,
    action: str,
    kind: str,
    identity: str,
    after: dict[str, Any] | None = None,
) -> None:
    audit.record(
        session,
        actor_id=access.viewer.id,
        action=action,
        object_type=kind,
        object_id=identity,
        competition_id=access.competition.id,
        after=after,
    )

"""References in posts: `#12` is a submission of the author's team, linked for those who may see it; `@ada` a user."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.access import CompetitionAccess, find_submission_access
from anyshot_platform.people.users.models import User
from anyshot_platform.running.discussion.reading import PostView
from anyshot_platform.site.web.linking import MENTION, REFERENCE

_MOST = 100  # of one page
Links = tuple[tuple[str, str], ...]


def read_references(
    session: Session, access: CompetitionAccess, posts: Sequence[PostView]
) -> Mapping[str, Links]:
    """By post, its references with their addresses: of submissions where the viewer may see them, of users.

    Each phase numbers a team's submissions anew: `#12` is the newest with that number, `#feedback/12` that of a phase.
    """
    people = _people(session, posts)
    known_viewer = access.viewer.user_id is not None
    wanted = {post.id: set(REFERENCE.findall(post.body) if known_viewer else ()) for post in posts}
    authors = {post.author for post in posts if wanted[post.id]}
    teams = _teams(session, access, authors) if authors else {}
    known: dict[tuple[str, str], str] = {}
    for post in posts:
        for words in sorted(wanted[post.id]):
            key = (teams.get(post.author, ""), words)
            if key[0] and key not in known and len(known) < _MOST:
                known[key] = _address(session, access, *key)
    return {
        post.id: (
            *(
                (f"#{words}", href)
                for words in sorted(wanted[post.id])
                if (href := known.get((teams.get(post.author, ""), words)))
            ),
            *((f"@{name}", people[name.casefold()]) for name in _named(post) if name.casefold() in people),
        )
        for post in posts
    }


def _named(post: PostView) -> list[str]:
    return sorted(set(MENTION.findall(post.body)))


def _people(session: Session, posts: Sequence[PostView]) -> dict[str, str]:
    """The profiles of those whom posts name, by their folded names."""
    keys = sorted({name.casefold() for post in posts for name in _named(post)})[:_MOST]
    query = select(User.username_key, User.username).where(
        User.username_key.in_(keys), User.deleted_at.is_(None)
    )
    return {key: f"/users/{name}" for key, name in session.execute(query)} if keys else {}


def _teams(session: Session, access: CompetitionAccess, authors: Iterable[str]) -> dict[str, str]:
    rows = session.execute(
        select(User.username, Membership.team_id)
        .join(User, User.id == Membership.user_id)
        .where(
            Membership.competition_id == access.competition.id,
            User.username.in_(list(authors)),
            Membership.team_id.is_not(None),
        )
    )
    return {author: team_id for author, team_id in rows if team_id}


def _address(session: Session, access: CompetitionAccess, team_id: str, words: str) -> str:
    """Where the submission is, empty where there is none or the viewer may not see it."""
    phase, _, number = words.rpartition("/")
    query = (
        select(Submission.id)
        .join(Phase, Phase.id == Submission.phase_id)
        .where(
            Submission.competition_id == access.competition.id,
            Submission.team_id == team_id,
            Submission.number == int(number),
        )
        .order_by(Submission.created_at.desc())
        .limit(1)
    )
    found = session.scalar(query.where(Phase.slug == phase) if phase else query)
    if found is None:
        return ""
    try:
        find_submission_access(session, access.viewer, found)
    except NotFound:
        return ""
    return f"/submissions/{found}"

"""References in posts to submissions: `#12` is one of the post's author's team, a link for those who may see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Membership
from anyshot_platform.discussion.reading import PostView
from anyshot_platform.errors import NotFound
from anyshot_platform.phases.models import Phase
from anyshot_platform.sight.access import CompetitionAccess, find_submission_access
from anyshot_platform.submissions.models import Submission
from anyshot_platform.web.linking import REFERENCE

_MOST = 100  # of one page
Links = tuple[tuple[str, str], ...]


def read_references(
    session: Session, access: CompetitionAccess, posts: Sequence[PostView]
) -> Mapping[str, Links]:
    """By post, what stands behind `#` with the address of the submission, where the viewer may see that.

    Each phase numbers a team's submissions anew: `#12` is the newest with that number, `#feedback/12` that of a phase.
    """
    wanted = {post.id: set(REFERENCE.findall(post.body)) for post in posts}
    if access.viewer.user_id is None or not any(wanted.values()):
        return {}
    teams = _teams(session, access, {post.author_id for post in posts if wanted[post.id]})
    known: dict[tuple[str, str], str] = {}
    for post in posts:
        for words in sorted(wanted[post.id]):
            key = (teams.get(post.author_id, ""), words)
            if key[0] and key not in known and len(known) < _MOST:
                known[key] = _address(session, access, *key)
    return {
        post.id: tuple(
            (words, href)
            for words in sorted(wanted[post.id])
            if (href := known.get((teams.get(post.author_id, ""), words)))
        )
        for post in posts
    }


def _teams(session: Session, access: CompetitionAccess, authors: Iterable[str]) -> dict[str, str]:
    rows = session.execute(
        select(Membership.user_id, Membership.team_id).where(
            Membership.competition_id == access.competition.id,
            Membership.user_id.in_(list(authors)),
            Membership.team_id.is_not(None),
        )
    )
    return {user_id: team_id for user_id, team_id in rows if team_id}


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

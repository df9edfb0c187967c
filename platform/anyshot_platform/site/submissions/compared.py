"""Which submissions are compared, by whom, and what the one model of the board says of each two."""

from collections.abc import Sequence
from itertools import combinations

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.errors import Conflict, NotFound
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.pairs import MOST_ON_A_BOARD, Statement
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.access import SubmissionAccess, find_access, find_submission_access
from anyshot_platform.judging.visibility.standing import counting
from anyshot_platform.judging.visibility.submissions import look
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.submissions.rows import submission_title
from anyshot_platform.site.submissions.show import find_version
from anyshot_platform.standings.leaderboards.trust import read_beside


class CannotCompare(Conflict):
    """The submissions have no results that can be put side by side."""

    code = "cannot_compare"


def find_compared(session: Session, viewer: Viewer, identity: str) -> SubmissionAccess:
    """A submission that the viewer may open, or a baseline beside which they stand on the leaderboard."""
    try:
        return find_submission_access(session, viewer, identity)
    except NotFound:
        baseline = session.scalars(baselines().where(Submission.id == identity)).one_or_none()
        shown = on_board(session, viewer, baseline) if baseline is not None else None
        if shown is None:
            raise
        return shown


def baselines() -> Select[Submission]:
    return select(Submission).where(
        counting(), Submission.kind == SubmissionKind.BASELINE, Submission.score.is_not(None)
    )


def on_board(session: Session, viewer: Viewer, baseline: Submission) -> SubmissionAccess | None:
    """What a participant may know of a baseline: what they would of a submission of their own, but not its page."""
    access = find_access(session, viewer, baseline.competition)
    if not access.may(Role.PARTICIPANT):
        return None
    sight = look(baseline, access.role, own=True)
    if sight is None or sight.phase.board_hidden:
        return None
    return SubmissionAccess(baseline, access, False, sight)


def title_of(one: SubmissionAccess) -> str:
    submission = one.submission
    if submission.kind == SubmissionKind.BASELINE:
        return f"Baseline “{submission.comment or submission.filename}”"
    return submission_title(submission)


def versions_of(session: Session, found: Sequence[SubmissionAccess]) -> list[PhaseVersion]:
    """The version of the phase that each has a score of. Raises `CannotCompare` where one has none to show."""
    if len({one.submission.phase_id for one in found}) > 1:
        raise CannotCompare(
            "Only submissions to the same phase ran the same tasks. Choose submissions to one phase."
        )
    if not all(one.sight.phase.scores for one in found):
        raise CannotCompare("This phase shows no scores yet.")
    return [_version(session, one) for one in found]


def read_all_pairs(
    session: Session, storage: Storage, found: Sequence[SubmissionAccess], version: PhaseVersion
) -> dict[tuple[int, int], Statement]:
    """The statements on all ordered pairs, by places."""
    places = list(combinations(range(len(found)), 2))
    asked = [(found[a].submission.id, found[b].submission.id) for a, b in places]
    sees_board = not any(one.sight.phase.board_hidden for one in found)
    beside = read_beside(session, storage, version, asked, sees_board=sees_board)
    said: dict[tuple[int, int], Statement] = {}
    for (a, b), one in zip(places, beside, strict=True):
        if one is None:
            first, second = title_of(found[a]), title_of(found[b])
            hidden = (
                ", or the leaderboard among whose rows they are ranked is hidden or has "
                f"{MOST_ON_A_BOARD} rows or more"
            )
            raise CannotCompare(
                f"These submissions cannot be compared: {first} and {second} did not run the same tasks"
                f"{hidden if version.rule.relative else ''}."
            )
        said |= {(a, b): one, (b, a): one.turned()}
    return said


def _version(session: Session, one: SubmissionAccess) -> PhaseVersion:
    version = find_version(session, one.submission)
    if version is None or not one.sight.scored:
        raise CannotCompare(f"{title_of(one)} has no score.")
    return version

"""The submission with the highest score: what another one is put beside."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.standing import counting
from anyshot_platform.standings.entries.selection import COMPETES


def find_best_other(
    session: Session, version: PhaseVersion, submission: Submission, *among: ColumnElement[bool]
) -> Submission | None:
    """The best other submission of its team, `among` those of a condition."""
    own = (Submission.team_id == submission.team_id, Submission.id != submission.id)
    return _find_best(session, version, COMPETES, *own, *among)


def find_best_baseline(session: Session, version: PhaseVersion) -> Submission | None:
    """The best baseline of a phase."""
    return _find_best(session, version, (SubmissionKind.BASELINE,))


def _find_best(
    session: Session,
    version: PhaseVersion,
    kinds: Sequence[SubmissionKind],
    *conditions: ColumnElement[bool],
) -> Submission | None:
    return session.scalars(
        select(Submission)
        .join(SubmissionScore, SubmissionScore.submission_id == Submission.id)
        .where(
            SubmissionScore.phase_version_id == version.id,
            Submission.kind.in_(kinds),
            counting(),
            *conditions,
        )
        .order_by(SubmissionScore.value.desc(), Submission.created_at)
        .limit(1)
    ).first()

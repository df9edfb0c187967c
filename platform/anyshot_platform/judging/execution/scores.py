"""Scores of runs become scores of submissions."""

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.domain_events import publish
from anyshot_platform.judging.domain_events import ScoresChanged
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.scores.models import RunScore, SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_scoring.summary import RunSummary


def record_score(session: Session, run: Run, summary: RunSummary) -> None:
    """Keep the result of a run; a second one for the same run changes nothing."""
    if session.get(RunScore, run.id) is not None:
        return
    session.add(
        RunScore(
            run_id=run.id,
            submission_id=run.submission_id,
            phase_version_id=run.phase_version_id,
            seed_index=run.seed_index,
            value=summary.mean,
            half_width=summary.half_width,
            tasks=summary.tasks,
            summary=summary,
        )
    )
    session.flush()


def combine_scores(session: Session, submission: Submission, version_id: str, runs: Sequence[Run]) -> bool:
    """Make a submission's score of its seeded runs, once each of them has one, and bring it on the boards.

    Returns whether there is one now; parts of a run have none before they are put together.
    """
    version = session.get_one(PhaseVersion, version_id)
    scores = session.scalars(
        select(RunScore).where(RunScore.run_id.in_([run.id for run in runs])).order_by(RunScore.seed_index)
    ).all()
    if {score.seed_index for score in scores} != set(range(version.seeded_runs)):
        return False
    result = version.rule.result([score.summary.as_run() for score in scores])
    row = find_score(session, submission.id, version_id)
    if row is None:
        row = SubmissionScore(
            submission_id=submission.id,
            phase_version_id=version_id,
            team_id=submission.team_id,
            submitted_at=submission.created_at,
        )
        session.add(row)
    row.value = result.score
    row.half_width = result.half_width
    row.tasks = scores[result.shown].tasks
    row.runs = len(scores)
    row.seconds = sum(run.used.participant_seconds for run in runs)
    row.by_dataset = dict(result.by_dataset)
    session.flush()
    if version.number == submission.phase.live_version:
        submission.score, submission.half_width = row.value, row.half_width
    publish(session, ScoresChanged(version, submission.team_id))
    return True


def find_score(session: Session, submission_id: str, version_id: str) -> SubmissionScore | None:
    """The score of a submission under a phase version."""
    return session.scalars(
        select(SubmissionScore).where(
            SubmissionScore.submission_id == submission_id, SubmissionScore.phase_version_id == version_id
        )
    ).one_or_none()


def forget_score(session: Session, submission: Submission, version_id: str) -> None:
    """Remove a submission's score, because its newest runs failed, and bring the boards in line."""
    submission.score = submission.half_width = None
    row = find_score(session, submission.id, version_id)
    if row is None:
        return
    version = session.get_one(PhaseVersion, version_id)
    publish(session, ScoresChanged(version, submission.team_id, leaving=row.id))
    session.execute(delete(SubmissionScore).where(SubmissionScore.id == row.id))

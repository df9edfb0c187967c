"""What the end of runs means for a submission: its zip's inspection counts, programs are told."""

from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.evidence import weigh_evidence
from anyshot_platform.judging.domain_events import RunEnded, SubmissionEnded
from anyshot_platform.judging.execution.kinds import kind_of
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.people.webhooks.service import emit


def weigh_inspection(session: Session, ended: RunEnded) -> None:
    """Decide the entries that hang on what the inspection of a zip found."""
    run = ended.run
    if run.submission_id is not None and run.state == RunState.FINISHED and kind_of(run).opens_zip:
        weigh_evidence(session, run.submission_id, run.evidence)


def tell_programs(session: Session, ended: SubmissionEnded) -> None:
    """Tell the competition's webhooks how a submission ended."""
    submission = ended.submission
    emit(
        session,
        submission.competition_id,
        f"submission.{submission.status}",
        {
            "submission": submission.id,
            "phase": submission.phase.slug,
            "status": submission.status.value,
            "verdict": submission.verdict.value if submission.verdict else None,
        },
    )

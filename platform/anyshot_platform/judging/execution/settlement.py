"""What follows from a run's step for its submission: status, siblings, score; others are told of the end."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_platform.contest.competitions.service import find_membership
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.background.outbox import put_ring
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.domain_events import publish
from anyshot_platform.judging.domain_events import PartsFinished, RunEnded, SubmissionEnded
from anyshot_platform.judging.execution.joining import join_versions
from anyshot_platform.judging.execution.kinds import starting_kind
from anyshot_platform.judging.execution.parts import deciding, list_siblings, lock_submission, unscored_parts
from anyshot_platform.judging.execution.repeating import lost_with
from anyshot_platform.judging.execution.scores import combine_scores, find_score, forget_score
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED, RUNNING, RunState
from anyshot_platform.judging.runs.transitions import write_state
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import (
    HANDED_IN,
    NOT_THEIR_DOING,
    SubmissionKind,
    SubmissionStatus,
)

_STATUS_OF_FAILURE = {Cause.USER: SubmissionStatus.CANCELLED}


def settle(session: Session, run: Run) -> None:
    """Bring everything that depends on a run in line with its new state; called in the same transaction."""
    if run.state in ENDED:
        publish(session, RunEnded(run))
    if run.submission_id is None:
        return
    submission = lock_submission(session, run.submission_id)
    siblings = list_siblings(session, run)
    counting = deciding(siblings)
    if run.state == RunState.FINISHED:
        _ring_waiting_shards(session, run, siblings)
    elif run.state in ENDED and run in counting:
        _cancel_hopeless(session, run, lost_with(submission, run, siblings))
    if run.state in ENDED and (parts := unscored_parts(session, run, siblings)):
        publish(session, PartsFinished(parts))
    counts = starting_kind(submission).counts
    if counts and combine_scores(session, submission, run.phase_version_id, siblings):
        join_versions(session, submission, run.phase_version)
    if _decides_status(session, submission, run):
        _write_status(session, submission, counting)


def _decides_status(session: Session, submission: Submission, run: Run) -> bool:
    """Whether a run is of the newest ones under the live version, or under one that was live when they began."""
    phase = session.get_one(Phase, submission.phase_id)
    newest = session.scalar(
        select(Run.generation)
        .where(Run.submission_id == submission.id, Run.phase_version_id == run.phase_version_id)
        .order_by(Run.generation.desc())
        .limit(1)
    )
    live = run.phase_version.number == phase.live_version or not _has_live_runs(session, submission, phase)
    return live and run.generation == newest


def _has_live_runs(session: Session, submission: Submission, phase: Phase) -> bool:
    found = (
        select(Run.id)
        .join(PhaseVersion, PhaseVersion.id == Run.phase_version_id)
        .where(Run.submission_id == submission.id, PhaseVersion.number == phase.live_version)
    )
    return session.scalar(found.limit(1)) is not None


def _ring_waiting_shards(session: Session, run: Run, siblings: Sequence[Run]) -> None:
    for sibling in siblings:
        if sibling.seed_index == run.seed_index and sibling.state == RunState.WAITING:
            moment = now()
            write_state(
                session, sibling, RunState.QUEUED, source_run_id=run.id, queued_at=moment, available_at=moment
            )
            put_ring(session, sibling.id, sibling.hardware_class)


def _cancel_hopeless(session: Session, run: Run, siblings: Sequence[Run]) -> None:
    """Without this run there will be no score: stop what else is queued or running for it."""
    for sibling in siblings:
        if sibling.state in (RunState.WAITING, RunState.QUEUED):
            write_state(
                session,
                sibling,
                RunState.CANCELLED,
                verdict=Verdict.CANCELLED,
                cause=Cause.USER,
                finished_at=now(),
                message="Not started, because another run of this submission failed.",
            )
        elif sibling.state in RUNNING and sibling.cancel_requested_at is None:
            sibling.cancel_requested_at = now()
    session.flush()


def _write_status(session: Session, submission: Submission, siblings: Sequence[Run]) -> None:
    old = submission.status
    submission.status = status_of_runs(siblings)
    decisive = decisive_failure(siblings)
    if decisive is not None and submission.status in (SubmissionStatus.FAILED, SubmissionStatus.CANCELLED):
        version_id = siblings[0].phase_version_id
        if decisive.cause == Cause.PARTICIPANT:
            forget_score(session, submission, version_id)
        elif find_score(session, submission.id, version_id) is not None:
            # A re-run that failed through no fault of the participant leaves the earlier result standing.
            submission.status, decisive = SubmissionStatus.FINISHED, None
    submission.verdict = decisive.verdict if decisive else None
    submission.cause = decisive.cause if decisive else None
    submission.quarantined = any(run.quarantined for run in siblings)
    if submission.status == SubmissionStatus.FINISHED:
        submission.verdict = Verdict.OK
    if submission.status in (SubmissionStatus.QUEUED, SubmissionStatus.RUNNING):
        submission.finished_at = None
    elif submission.finished_at is None or submission.status != old:
        submission.finished_at = now()
        _charge_quota(session, submission, decisive)
        session.flush()
        publish(session, SubmissionEnded(submission, decisive))
    session.flush()


def status_of_runs(runs: Sequence[Run]) -> SubmissionStatus:
    """A submission's status, from the runs that make its score."""
    states = {run.state for run in runs}
    if states <= {RunState.FINISHED}:
        return SubmissionStatus.FINISHED
    if states <= ENDED:
        decisive = decisive_failure(runs)
        cause = decisive.cause if decisive else None
        return _STATUS_OF_FAILURE.get(cause, SubmissionStatus.FAILED) if cause else SubmissionStatus.FAILED
    if states <= {RunState.QUEUED, RunState.WAITING}:
        return SubmissionStatus.QUEUED
    return SubmissionStatus.RUNNING


def decisive_failure(runs: Sequence[Run]) -> Run | None:
    """The failure that a submission's owner has to know of: the first that was not a mere consequence."""
    failed = [run for run in runs if run.state in ENDED and run.state != RunState.FINISHED]
    failed.sort(key=lambda run: (run.cause == Cause.USER, run.finished_at or now(), run.seed_index))
    return failed[0] if failed else None


def _charge_quota(session: Session, submission: Submission, failure: Run | None) -> None:
    """Only what a team answers for costs quota: its failures, and its cancellations where the phase says so.

    What organizers decided stays. Smoke tests have a quota of their own, which counts those without a reason.
    """
    charged = (*HANDED_IN, SubmissionKind.SMOKE)
    if submission.kind not in charged or submission.quota_decided_at is not None:
        return
    submission.quota_reason = _why_free(session, submission, failure) if failure else ""
    submission.counts_quota = submission.kind in HANDED_IN and not submission.quota_reason


def _why_free(session: Session, submission: Submission, failure: Run) -> str:
    """Why a submission that ended by this failure costs no quota; empty where it costs."""
    if failure.cause in NOT_THEIR_DOING:
        return "not your doing"
    if failure.verdict == Verdict.RUNTIME_ERROR and failure.before_training:
        return "It failed before its first training step, which costs nothing."
    if failure.cause != Cause.USER:
        return ""
    if not _cancelled_by_team(session, submission, failure):
        return "not your doing"
    return "" if submission.phase.cancelled_counts else "cancelled"


def _cancelled_by_team(session: Session, submission: Submission, run: Run) -> bool:
    member = find_membership(session, submission.competition_id, run.cancelled_by or "")
    return member is not None and member.team_id == submission.team_id

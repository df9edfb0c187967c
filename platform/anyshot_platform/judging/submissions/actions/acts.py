"""Acts on a submission: run or score it again, cancel, disqualify, quota, delete; and each with what undoes it."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    LOG_HOLDS,
    TEAM_READS,
    Act,
    ActDone,
    ActRequest,
    Danger,
    Findings,
    Target,
)
from anyshot_platform.actions.on_results import results_are_public
from anyshot_platform.contest.phases import priorities
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.judging.execution.joining import finished_runs
from anyshot_platform.judging.execution.kinds import RESCORING, starting_kind
from anyshot_platform.judging.execution.queueing import queue_derived, queue_runs
from anyshot_platform.judging.execution.repeating import newest_runs
from anyshot_platform.judging.execution.scores import find_score
from anyshot_platform.judging.execution.service import cancel_submission
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.planning import Urgency, next_generation
from anyshot_platform.judging.runs.states import ENDED, RunState
from anyshot_platform.judging.submissions.actions.submitting import refresh_boards
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.judging.visibility.standing import standing_of

Look = Callable[[Session, Submission, ActRequest], Findings]
Change = Callable[[Session, Submission, ActRequest], None]


def _target(session: Session, submission: Submission) -> Target:
    title = f"no. {submission.number} of “{submission.team.name}”"
    return Target("submission", submission.id, submission.id[:12], title, (submission.competition_id,))


def _state_of(submission: Submission) -> dict[str, Any]:
    standing = standing_of(submission)
    return {
        "status": submission.status.value,
        "disqualified": standing.disqualified is not None,
        "deleted": standing.deleted,
        "counts_quota": submission.counts_quota,
    }


def _open_runs(session: Session, submission: Submission) -> bool:
    query = select(Run.id).where(Run.submission_id == submission.id, Run.state.not_in(ENDED)).limit(1)
    return session.scalar(query) is not None


def _look_rerun(session: Session, submission: Submission, request: ActRequest) -> Findings:
    if submission.status in (SubmissionStatus.QUEUED, SubmissionStatus.RUNNING):
        return Findings(done="It is being evaluated already.")
    return Findings(
        blocked=results_are_public(session, submission.phase),
        does=[
            (
                "It is meta-trained and meta-tested again under the phase's present settings; the new "
                "result replaces the old one."
            )
        ],
    )


def _rerun(session: Session, submission: Submission, request: ActRequest) -> None:
    queue_runs(session, submission, live_version(session, submission.phase), Urgency(priorities.RERUN))


def _why_not_rescored(session: Session, submission: Submission) -> str:
    """What a submission lacks to be scored again under the live version; empty where it lacks nothing."""
    version = live_version(session, submission.phase)
    sources = finished_runs(session, submission, version)
    runs = sources or newest_runs(session, submission, version)
    parts = Counter(run.seed_index for run in runs if run.state == RunState.FINISHED)
    if not parts:
        return "It has no finished run to score again."
    if any(parts[run.seed_index] not in (0, run.shard_count) for run in runs):
        return "It has a run of which not all shards are finished."
    if not sources:
        return "Not all of its seeded runs are finished: there is no whole result to score again."
    if find_score(session, submission.id, version.id) is None:
        return "It failed when it was run again, and its earlier score is gone: run it again."
    return ""


def _look_rescore(session: Session, submission: Submission, request: ActRequest) -> Findings:
    kind = starting_kind(submission)
    if not kind.counts:
        return Findings(
            refused=[f"It is no entry ({kind.title.lower()}) and is run again, not scored again."]
        )
    why_not = _why_not_rescored(session, submission)
    if why_not:
        return Findings(refused=[why_not])
    if _open_runs(session, submission):
        return Findings(done="It is being evaluated already.")
    return Findings(
        blocked=results_are_public(session, submission.phase),
        does=["The predictions that were kept are scored again."],
    )


def _rescore(session: Session, submission: Submission, request: ActRequest) -> None:
    version = live_version(session, submission.phase)
    generation = next_generation(session, submission, version)
    for source in finished_runs(session, submission, version):
        again = queue_derived(session, RESCORING, source, version, Urgency(priorities.RERUN))
        again.generation = generation


def _look_cancel(session: Session, submission: Submission, request: ActRequest) -> Findings:
    if not _open_runs(session, submission):
        return Findings(done="It has ended already.")
    return Findings(does=["What is queued ends at once, and what is running within seconds."])


def _cancel(session: Session, submission: Submission, request: ActRequest) -> None:
    cancel_submission(session, submission, by=request.actor_id)


def _look_disqualify(session: Session, submission: Submission, request: ActRequest) -> Findings:
    if standing_of(submission).disqualified is not None:
        return Findings(done="It is disqualified already.")
    return Findings(does=["It is taken off every board. The team sees the reason."])


def _disqualify(session: Session, submission: Submission, request: ActRequest) -> None:
    require_reason(request.reason)
    submission.disqualified_at, submission.disqualified_reason = now(), request.reason.strip()
    session.flush()
    refresh_boards(session, submission)


def require_reason(reason: str) -> None:
    """Raise `Invalid` where a disqualification would come without one."""
    if not reason.strip():
        raise Invalid("Give the reason of a disqualification: the team sees it.", field="reason")


def _look_qualify(session: Session, submission: Submission, request: ActRequest) -> Findings:
    if standing_of(submission).disqualified is None:
        return Findings(done="It is not disqualified.")
    return Findings(does=["It is back on the boards."])


def _qualify(session: Session, submission: Submission, request: ActRequest) -> None:
    submission.disqualified_at, submission.disqualified_reason = None, ""
    session.flush()
    refresh_boards(session, submission)


def _look_charge(counts: bool) -> Look:
    already = "It counts already." if counts else "It costs no quota already."
    does = "It counts for the team's quotas again." if counts else "It does not count for the team's quotas."

    def look(session: Session, submission: Submission, request: ActRequest) -> Findings:
        return Findings(done=already) if submission.counts_quota == counts else Findings(does=[does])

    return look


def _charge(counts: bool) -> Change:
    said = "by the organizers" if counts else "given back by the organizers"

    def change(session: Session, submission: Submission, request: ActRequest) -> None:
        submission.counts_quota, submission.quota_reason = counts, request.reason.strip() or said
        submission.quota_decided_at = now()

    return change


def _look_delete(session: Session, submission: Submission, request: ActRequest) -> Findings:
    if standing_of(submission).deleted:
        return Findings(done="It is deleted already.")
    return Findings(does=["It is hidden from the team and taken off the boards; nothing is lost."])


def _delete(session: Session, submission: Submission, request: ActRequest) -> None:
    submission.deleted_at = now()
    session.flush()
    refresh_boards(session, submission)


def _look_restore(session: Session, submission: Submission, request: ActRequest) -> Findings:
    if not standing_of(submission).deleted:
        return Findings(done="It is not deleted.")
    return Findings(does=["It is back, on the boards too where its score counts."])


def _restore(session: Session, submission: Submission, request: ActRequest) -> None:
    submission.deleted_at = None
    session.flush()
    refresh_boards(session, submission)


def _act(
    name: str, title: str, look: Look, change: Change, message: str, undo: str, danger: Danger
) -> Act[Submission]:
    def do(session: Session, submission: Submission, request: ActRequest) -> ActDone:
        before = _state_of(submission)
        change(session, submission, request)
        session.flush()
        return ActDone(message, before=before, after=_state_of(submission))

    reason = TEAM_READS if name in _TOLD else LOG_HOLDS
    return Act(f"submission.{name}", title, _target, look, do, undo, reason, danger=danger)


_TOLD = ("disqualify", "refund", "charge")  # acts of which the team reads the reason
_CANCEL = "Cancel it; where it had a score, that one stands again."
_ALL = (
    _act("rerun", "Run {} again", _look_rerun, _rerun, "It is queued again.", _CANCEL, danger=Danger.NONE),
    _act(
        "rescore",
        "Score {} again",
        _look_rescore,
        _rescore,
        "Its scoring is queued.",
        _CANCEL,
        danger=Danger.NONE,
    ),
    _act(
        "cancel",
        "Cancel {}",
        _look_cancel,
        _cancel,
        "It is being cancelled.",
        "Run it again.",
        danger=Danger.PROOF,
    ),
    _act(
        "disqualify",
        "Disqualify {}",
        _look_disqualify,
        _disqualify,
        "It is disqualified.",
        "Lift the disqualification.",
        danger=Danger.PROOF,
    ),
    _act(
        "qualify",
        "Lift the disqualification of {}",
        _look_qualify,
        _qualify,
        "It is not disqualified any more.",
        "Disqualify it again.",
        danger=Danger.NONE,
    ),
    _act(
        "refund",
        "Give the quota back for {}",
        _look_charge(False),
        _charge(False),
        "It costs no quota.",
        "Count it for the quota again.",
        danger=Danger.NONE,
    ),
    _act(
        "charge",
        "Count {} for the quota",
        _look_charge(True),
        _charge(True),
        "It counts.",
        "Give the quota back.",
        danger=Danger.PROOF,
    ),
    _act("delete", "Delete {}", _look_delete, _delete, "It is deleted.", "Restore it.", danger=Danger.PROOF),
    _act(
        "restore",
        "Restore {}",
        _look_restore,
        _restore,
        "It is back.",
        "Delete it again.",
        danger=Danger.NONE,
    ),
)
ACTS = {act.name: act for act in _ALL}

"""Submissions come under every version that needs them: all when it is scored, late ones as they finish."""

from collections.abc import Sequence
from itertools import groupby

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases import priorities
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.states import RescoreMode, VersionState
from anyshot_platform.judging.execution.kinds import counting_runs, derived_kind, starting_kind
from anyshot_platform.judging.execution.parts import deciding
from anyshot_platform.judging.execution.queueing import queue_derived, queue_runs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.planning import Urgency, next_generation
from anyshot_platform.judging.runs.states import ENDED, RunState
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.standing import kept, standing_of

_BULK = Urgency(priorities.BULK, bulk=True)


def join_versions(session: Session, submission: Submission, scored: PhaseVersion) -> None:
    """Queue a submission that has just been scored under the other versions that would miss it.

    That is a draft that is being scored, and the live version where `scored` was live when the runs began. What is
    scored under a draft follows from other tasks or settings: it never reaches the live version.
    """
    if not starting_kind(submission).counts or standing_of(submission).deleted:
        return
    phase = submission.phase
    for version in phase.versions:
        live = version.number == phase.live_version
        was_live = scored.live_at is not None or scored.number == 1  # the first one is born live
        follows = (live and was_live) or (
            version.state == VersionState.SCORING and scored.number == phase.live_version
        )
        if follows and version.id != scored.id and _needs(session, submission, version, scored):
            queue_under(session, submission, version, _mode(version), scored)


def _mode(version: PhaseVersion) -> RescoreMode:
    known = version.rescore_mode != RescoreMode.NOTHING
    return version.rescore_mode if known else RescoreMode.EVERYTHING


def _needs(session: Session, submission: Submission, version: PhaseVersion, scored: PhaseVersion) -> bool:
    """Whether a submission has no runs under a version, or such of a result that was replaced since."""
    runs = list(
        session.scalars(
            select(Run).where(Run.submission_id == submission.id, Run.phase_version_id == version.id)
        )
    )
    if not runs or _mode(version) == RescoreMode.EVERYTHING:
        return not runs
    kind = derived_kind(_mode(version))
    sources = {kind.origin(session, run).id for run in finished_runs(session, submission, scored)}
    return sources.isdisjoint({run.source_run_id for run in runs})


def queue_under(
    session: Session,
    submission: Submission,
    version: PhaseVersion,
    mode: RescoreMode,
    source: PhaseVersion,
) -> int:
    """Queue the runs that score a submission under a version; how many. `source` has the results used again."""
    phase = submission.phase
    urgency = Urgency(phase.priority) if version.number == phase.live_version else _BULK
    if mode == RescoreMode.EVERYTHING:
        return len(queue_runs(session, submission, version, urgency))
    kind = derived_kind(mode)
    generation = next_generation(session, submission, version)
    usable = [run for run in finished_runs(session, submission, source) if kind.can_start_from(run)]
    for run in usable:
        queue_derived(session, kind, run, version, urgency).generation = generation
    return len(usable)


def finished_runs(session: Session, submission: Submission, version: PhaseVersion) -> list[Run]:
    """The finished runs of the newest generation under a version that has a result of every seed; none without one.

    A re-run that was partly lost leaves the earlier result standing, and what starts from results starts from that.
    """
    query = select(Run).where(Run.submission_id == submission.id, Run.phase_version_id == version.id)
    runs = session.scalars(query.order_by(Run.generation.desc(), Run.seed_index, Run.shard_index))
    for _, group in groupby(runs, key=lambda run: run.generation):
        together = list(group)
        if _has_every_seed(together, version):
            return [run for run in together if run.state == RunState.FINISHED]
    return []


def _has_every_seed(runs: Sequence[Run], version: PhaseVersion) -> bool:
    seeds = {run.seed_index for run in runs}
    return seeds == set(range(version.seeded_runs)) and all(
        run.state == RunState.FINISHED for run in deciding(runs)
    )


def scored_submissions(session: Session, phase: Phase) -> Sequence[Submission]:
    """What has a score under the live version, and so would have to have one under another."""
    query = select(Submission).where(
        Submission.phase_id == phase.id,
        Submission.kind != SubmissionKind.SMOKE,
        kept(),
        Submission.score.is_not(None),
    )
    return session.scalars(query.order_by(Submission.created_at)).all()


def without_score(session: Session, phase: Phase, version: PhaseVersion) -> list[Submission]:
    """The scored submissions of the phase that have none under this version: they would leave the boards."""
    there = set(
        session.scalars(
            select(SubmissionScore.submission_id).where(SubmissionScore.phase_version_id == version.id)
        )
    )
    return [row for row in scored_submissions(session, phase) if row.id not in there]


def not_queued(session: Session, phase: Phase, version: PhaseVersion) -> list[Submission]:
    """Those of them that nobody has tried to score under this version, or whose runs were cancelled."""
    tried = set(
        session.scalars(
            select(Run.submission_id).where(
                Run.phase_version_id == version.id, Run.state != RunState.CANCELLED
            )
        )
    )
    return [row for row in without_score(session, phase, version) if row.id not in tried]


def still_running(session: Session, phase: Phase, version: PhaseVersion) -> int:
    """How many submissions of the phase are being scored under a version now."""
    query = (
        select(Run.submission_id)
        .where(
            Run.phase_version_id == version.id,
            Run.state.not_in(ENDED),
            counting_runs(),
        )
        .distinct()
    )
    return len(session.scalars(query).all())

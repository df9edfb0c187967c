"""Which failed runs of a final phase are repeated, and how: with the same seeds, beside those that finished."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.judging.execution.kinds import EVALUATION, Planning, kind_of
from anyshot_platform.judging.execution.parts import failed_alone, list_generation
from anyshot_platform.judging.execution.queueing import add_to_queue
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.planning import Urgency, next_generation, require_evaluable
from anyshot_platform.judging.runs.states import ENDED, RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import NOT_THEIR_DOING, SubmissionKind


def is_repeatable(submission: Submission, run: Run) -> bool:
    """Whether a run failed in a final phase through no fault of the participant: it may be repeated, no other may.

    Another try of code that failed would be a second chance that the other entrants do not have.
    """
    failed = run.state in ENDED and run.state != RunState.FINISHED
    return failed and submission.kind == SubmissionKind.FINAL and run.cause in NOT_THEIR_DOING


def lost_with(submission: Submission, run: Run, siblings: Sequence[Run]) -> list[Run]:
    """Of the runs that make one score with a failed one, those whose results are of no use now.

    All, unless it is repeated: then the other seeds are kept, and the other datasets of its seed.
    """
    if not is_repeatable(submission, run):
        return list(siblings)
    return [one for one in siblings if one.seed_index == run.seed_index and not kind_of(one).by_dataset(one)]


def newest_runs(session: Session, submission: Submission, version: PhaseVersion) -> list[Run]:
    """The runs of a submission's last generation under a version, by seed and part."""
    last = next_generation(session, submission, version) - 1
    return list(list_generation(session, submission.id, version.id, last))


def unfinished_seeds(runs: Sequence[Run]) -> list[int]:
    """The places of the seeds, from 0, that lack a run which counts."""
    return sorted({run.seed_index for run in runs if _is_missing(run)})


def _is_missing(run: Run) -> bool:
    return run.state != RunState.FINISHED and not failed_alone(run)


def repeat(session: Session, submission: Submission, version: PhaseVersion, urgency: Urgency) -> list[Run]:
    """Queue anew what is missing of a submission's newest runs; all of them must have ended.

    The new runs have the seeds of those that they replace. What finished is kept: it moves on into their generation.
    Shards of one seed share a learner and are repeated together; a dataset's part is repeated by itself.
    """
    require_evaluable(version)
    runs = newest_runs(session, submission, version)
    generation = next_generation(session, submission, version)
    lost = set(unfinished_seeds(runs))
    again = [run for run in runs if run.seed_index in lost and (_is_missing(run) or not version.each_dataset)]
    parts = {(run.seed_index, run.shard_index) for run in again}
    for run in runs:
        if run not in again:
            run.generation = generation
    planned = [
        run
        for seed_index in sorted(lost)
        for run in EVALUATION.plan_seed(
            Planning(session, submission, version, urgency, generation), seed_index
        )
        if (run.seed_index, run.shard_index) in parts
    ]
    add_to_queue(session, submission, version, planned)
    return planned

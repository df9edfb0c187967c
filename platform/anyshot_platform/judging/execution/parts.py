"""The parts of a submission's runs: which of them decide what becomes of it."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.wire.verdicts import Cause
from anyshot_platform.judging.execution.kinds import kind_of
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED, RunState
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.submissions.models import Submission


def lock_submission(session: Session, submission_id: str) -> Submission:
    """A submission, locked until the transaction ends: of two runs that end at once, the later one sees the other."""
    query = select(Submission).where(Submission.id == submission_id)
    return session.scalars(query.with_for_update().execution_options(populate_existing=True)).one()


def lock_run(session: Session, run_id: str) -> Run | None:
    """A run, locked, its submission first, as `settle` does: who holds a run waits for no submission."""
    submission_id = session.scalar(select(Run.submission_id).where(Run.id == run_id))
    if submission_id is not None:
        lock_submission(session, submission_id)
    query = select(Run).where(Run.id == run_id).with_for_update().execution_options(populate_existing=True)
    return session.scalars(query).one_or_none()


def list_siblings(session: Session, run: Run) -> Sequence[Run]:
    """The runs that make one score together with this one, itself included."""
    return list_generation(session, run.submission_id, run.phase_version_id, run.generation)


def list_generation(
    session: Session, submission_id: str | None, version_id: str, generation: int
) -> Sequence[Run]:
    """A submission's runs of one generation under a version, by seed and part, as the database has them now."""
    return session.scalars(
        select(Run)
        .where(
            Run.submission_id == submission_id,
            Run.phase_version_id == version_id,
            Run.generation == generation,
        )
        .order_by(Run.seed_index, Run.shard_index)
        .execution_options(populate_existing=True)
    ).all()


def failed_alone(run: Run) -> bool:
    """Whether this is a dataset's part that the participant's code failed on, where the ranking rule forgives that.

    It has the worst rank on this dataset (NeurIPS'21); its other datasets count.
    """
    failed = run.state in ENDED and run.cause == Cause.PARTICIPANT
    return failed and kind_of(run).by_dataset(run) and run.phase_version.rule.forgives_datasets


def deciding(runs: Sequence[Run]) -> list[Run]:
    """Those that decide what becomes of a submission: all but what failed alone beside others of the same seed."""
    alive = {run.seed_index for run in runs if not failed_alone(run)}
    return [run for run in runs if run.seed_index not in alive or not failed_alone(run)]


def unscored_parts(session: Session, run: Run, siblings: Sequence[Run]) -> list[Run]:
    """The parts of a run's seed that make its score, in their order, once all have finished; none if there is one."""
    parts = deciding([one for one in siblings if one.seed_index == run.seed_index])
    if run.shard_index is None or not all(part.state == RunState.FINISHED for part in parts):
        return []
    scored = select(RunScore.run_id).where(RunScore.run_id.in_([part.id for part in parts]))
    return [] if session.scalars(scored.limit(1)).first() else parts

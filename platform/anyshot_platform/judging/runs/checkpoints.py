"""Checkpoints of a run that goes on: stored by one attempt, handed to the next, gone when the run has ended."""

from collections.abc import Sequence

from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.wire.checkpoints import LEARNER, TRAINING
from anyshot_platform.judging.runs.models import Run, RunCheckpoint


def add_checkpoint(
    session: Session, run: Run, name: str, span: tuple[int, int], digest: str, size: int
) -> None:
    """Note a stored file of the run's present attempt; what it replaces goes, so that files follow from one another.

    A training replaces all that earlier attempts stored, and so does a learner, but for a training. Answers replace
    that, since it is over, and earlier answers to the same tasks and later ones.
    """
    first, stop = span
    earlier = RunCheckpoint.epoch < run.epoch
    training = RunCheckpoint.name == TRAINING
    if name == TRAINING:
        replaced = earlier
    elif name == LEARNER:
        replaced = earlier & ~training
    else:
        replaced = training | (earlier & (RunCheckpoint.stop > first))
    again = (RunCheckpoint.epoch == run.epoch) & (RunCheckpoint.name == name)
    session.execute(delete(RunCheckpoint).where(RunCheckpoint.run_id == run.id, or_(replaced, again)))
    session.add(
        RunCheckpoint(
            run_id=run.id, epoch=run.epoch, name=name, first=first, stop=stop, digest=digest, size=size
        )
    )
    session.flush()


def list_checkpoints(session: Session, run_id: str) -> Sequence[RunCheckpoint]:
    """The files of a run in the order of their tasks."""
    order = (RunCheckpoint.first, RunCheckpoint.stop)
    return session.scalars(select(RunCheckpoint).where(RunCheckpoint.run_id == run_id).order_by(*order)).all()


def count_answered(session: Session, run_id: str) -> int:
    """The tasks of a run whose answers are stored."""
    return session.scalar(select(func.max(RunCheckpoint.stop)).where(RunCheckpoint.run_id == run_id)) or 0


def has_gone_on(session: Session, run: Run) -> bool:
    """Whether the present attempt of a run stored something from which the next one goes on."""
    own = select(RunCheckpoint.id).where(RunCheckpoint.run_id == run.id, RunCheckpoint.epoch == run.epoch)
    return session.scalar(own.limit(1)) is not None


def words_on_next_attempt(session: Session, run: Run) -> str:
    """Where the next attempt of a run goes on; nothing where it begins at the beginning."""
    if not (stored := list_checkpoints(session, run.id)):
        return ""
    if done := max(one.stop for one in stored):
        return f" It goes on after task {done} of {run.tasks_total}."
    trains = any(one.name == TRAINING for one in stored)
    return f" It goes on {'in' if trains else 'after'} meta-training."


def drop_checkpoints(session: Session, run_id: str) -> None:
    """Forget the files of a run that has ended; they are removed with all that nothing refers to."""
    session.execute(delete(RunCheckpoint).where(RunCheckpoint.run_id == run_id))

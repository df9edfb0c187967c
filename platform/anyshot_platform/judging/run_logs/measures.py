"""Keeps what attempts used and what their loggers said over time, and reads it back under the phase's log policy."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import LogPolicy, Measure
from anyshot_platform.foundation.database import insert_into
from anyshot_platform.judging.run_logs.models import RunMeasure
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.records import HeldRun
from anyshot_platform.judging.visibility.logs import stages_shown

MOST = 5000  # of one attempt: honest workers send some hundred


def keep_measures(session: Session, run: Run | HeldRun, measures: Sequence[Measure]) -> None:
    """Keep the measures of an attempt that are new. Sending twice is harmless."""
    rows = [{"run_id": run.id, "epoch": run.epoch, **one.model_dump()} for one in measures if one.seq < MOST]
    if not rows:
        return
    statement = insert_into(session, RunMeasure).on_conflict_do_nothing(
        index_elements=[RunMeasure.run_id, RunMeasure.epoch, RunMeasure.seq]
    )
    for start in range(0, len(rows), 500):
        session.execute(statement.values(rows[start : start + 500]))


def read_measures(
    session: Session, run_ids: Sequence[str], *, policy: LogPolicy, after: int = 0
) -> list[RunMeasure]:
    """The measures of the runs' last attempts that the policy shows, with ids above `after`, in order."""
    newest = dict(
        session.execute(
            select(RunMeasure.run_id, func.max(RunMeasure.epoch))
            .where(RunMeasure.run_id.in_(run_ids))
            .group_by(RunMeasure.run_id)
        ).all()
    )
    query = select(RunMeasure).where(RunMeasure.run_id.in_(newest), RunMeasure.id > after, measured(policy))
    found = session.scalars(query.order_by(RunMeasure.id))
    return [one for one in found if one.epoch == newest[one.run_id]]


def measured(policy: LogPolicy) -> ColumnElement[bool]:
    """Which measures a participant may see: those of the stages whose output they see."""
    return RunMeasure.stage.in_(sorted(stages_shown(policy)))

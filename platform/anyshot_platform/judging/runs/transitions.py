"""The one writer of a run's state."""

from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from anyshot_platform.foundation.errors import Conflict
from anyshot_platform.judging.runs.checkpoints import drop_checkpoints
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED, RunState, check_transition


class StaleEpoch(Conflict):
    """The attempt lost its lease: another one has the run, or it has ended."""

    code = "stale_epoch"

    def __init__(self) -> None:
        super().__init__("Another attempt has this run, or it has ended.")


def write_state(session: Session, run: Run, new: RunState, **values: Any) -> None:
    """Move a run to a state, if it is still as we know it (compare-and-set on state and epoch).

    `values` are further columns to write. Raises `IllegalTransition` for a pair that the table does not have and
    `StaleEpoch` if somebody else moved the run meanwhile.
    """
    check_transition(run.state, new)
    changed = session.execute(
        update(Run)
        .where(Run.id == run.id, Run.state == run.state, Run.epoch == run.epoch)
        .values(state=new, **values)
        .execution_options(synchronize_session=False)
    )
    if changed.rowcount != 1:  # pyright: ignore[reportAttributeAccessIssue] - an UPDATE gives a CursorResult
        raise StaleEpoch
    if new in ENDED:
        drop_checkpoints(session, run.id)
    session.refresh(run)

"""The state machine of runs: one table, one writer."""

import ast
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy import select

import anyshot_platform
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import (
    ENDED,
    RUNNING,
    STAGES,
    TRANSITIONS,
    IllegalTransition,
    RunState,
)
from anyshot_platform.judging.runs.states import check_transition as check
from anyshot_platform.judging.runs.transitions import StaleEpoch, write_state
from tests.platform.site import Site

ORDER = [RunState.CLAIMED, *STAGES]


def is_expected(old: RunState, new: RunState) -> bool:
    """The rules in words, written a second time."""
    if old in ENDED:
        return False
    if old == RunState.WAITING:
        return new in (RunState.QUEUED, RunState.FAILED, RunState.CANCELLED, RunState.TIMED_OUT)
    if old == RunState.QUEUED:
        return new in (RunState.CLAIMED, RunState.FAILED, RunState.CANCELLED)
    forward = new in ORDER and ORDER.index(new) > ORDER.index(old)
    return forward or new in ENDED or new in (RunState.QUEUED, RunState.CLAIMED)


@pytest.mark.parametrize(("old", "new"), list(product(RunState, RunState)))
def test_all_pairs(old: RunState, new: RunState) -> None:
    if is_expected(old, new):
        check(old, new)
    else:
        with pytest.raises(IllegalTransition):
            check(old, new)


def test_every_state_is_of_one_kind() -> None:
    waiting = {RunState.WAITING, RunState.QUEUED}
    assert set(RunState) == waiting | RUNNING | ENDED
    assert set(TRANSITIONS) == set(RunState)


def test_only_one_function_writes_the_state_of_a_run() -> None:
    """No assignment to `.state` of a run and no UPDATE of it outside `judging/runs/transitions.py`."""
    package = Path(anyshot_platform.__file__).parent
    offenders = []
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                if (
                    isinstance(target, ast.Attribute)
                    and target.attr == "state"
                    and _names_a_run(target.value)
                ):
                    offenders.append(f"{file.name}:{target.lineno}")
    assert offenders == []


def _names_a_run(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("run", "sibling", "shard", "source", "first")


@pytest.mark.parametrize("meanwhile", [{"epoch": 1}, {}], ids=["another attempt", "the same attempt"])
def test_the_writer_compares_before_it_sets(site: Site, meanwhile: dict[str, int]) -> None:
    """The state alone is enough: within one attempt, too, a run may have moved on."""
    site.member("alice").submit()
    database = site.services.database
    with database.reading() as session:
        known = session.scalars(select(Run)).one()
    with database.writing() as session:
        write_state(session, session.get_one(Run, known.id), RunState.CLAIMED, **meanwhile)
    with pytest.raises(StaleEpoch), database.writing() as session:
        # Somebody who still believes that the run is queued.
        stale = session.get_one(Run, known.id)
        session.expunge(stale)
        write_state(session, known, RunState.CANCELLED, finished_at=now())

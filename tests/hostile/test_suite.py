"""Every hostile submission ends as its `expected.toml` says, leaves nothing behind, and harms nobody after it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox import Sandboxes
from tests.hostile.bench import Data, Seen, answers, evaluate
from tests.hostile.cases import list_cases, read_expected
from tests.hostile.conftest import HONEST
from tests.hostile.elsewhere import ELSEWHERE, is_there
from tests.hostile.record import record_result

CASES = list_cases()


@pytest.mark.rotating
@pytest.mark.parametrize("folder", CASES, ids=[folder.name for folder in CASES])
def test_hostile_submission(
    folder: Path, hostile_sandboxes: Sandboxes, hostile_data: Data, honest_reference: Seen, scratch: Path
) -> None:
    expected = read_expected(folder).under(hostile_sandboxes.name)
    seen = evaluate(hostile_sandboxes, hostile_data, folder, expected, scratch)
    record_result(folder.name, expected, seen, hostile_sandboxes.name)
    failure = seen.outcome.failure
    assert seen.outcome.verdict in expected.verdict, (failure, seen.text[-2000:])
    assert seen.outcome.verdict.cause == expected.cause
    assert (len(seen.outcome.results) == expected.tasks) == (seen.outcome.verdict == Verdict.OK)
    assert seen.left_behind == ()
    assert seen.processes_left == []
    assert seen.connections == 0
    assert seen.growth_mib < expected.worker_growth_mib
    for wanted in expected.must_log:
        assert wanted in seen.text
    conceded = tuple(f"BREACH {name} " for name in expected.gvisor_concedes)
    text = "\n".join(line for line in seen.text.splitlines() if not f"{line} ".startswith(conceded))
    for forbidden in expected.never_log:
        assert forbidden not in text
    told = f"{failure.message}\n{failure.detail}" if failure else ""
    assert len(told) < 20_000
    for text in (seen.text, told):
        assert not any(ord(character) < 32 and character not in "\n\t" for character in text), "not inert"
        assert hostile_data.canary not in text
    for forbidden in expected.never_tell:
        assert forbidden not in told
    after = evaluate(hostile_sandboxes, hostile_data, None, HONEST, scratch)
    assert after.outcome.verdict == Verdict.OK, after.outcome.failure
    assert after.scores == honest_reference.scores
    for now, before in zip(answers(after.outcome), answers(honest_reference.outcome), strict=True):
        assert np.array_equal(now, before)


def test_numbers_are_complete() -> None:
    """All 46 of the sandbox page are somewhere: here as submissions, or in the tests that `elsewhere` names."""
    here = {read_expected(folder).number for folder in CASES}
    assert here | {item.number for item in ELSEWHERE} >= set(range(1, 47))


@pytest.mark.parametrize("test", sorted({test for item in ELSEWHERE for test in item.tests}))
def test_what_is_held_elsewhere_is_there(test: str) -> None:
    assert is_there(test)


def test_honest_submission_scores(honest_reference: Seen) -> None:
    assert honest_reference.outcome.verdict == Verdict.OK, honest_reference.outcome.failure
    assert len(honest_reference.scores) == HONEST.tasks

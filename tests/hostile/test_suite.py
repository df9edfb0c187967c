"""Every hostile submission ends as `expected.toml` says, leaves nothing, and harms nobody beside or after it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox import Sandboxes
from tests.hostile.bench import Data, Seen, answers, evaluate
from tests.hostile.cases import Expected, list_cases, read_expected
from tests.hostile.conftest import HONEST
from tests.hostile.elsewhere import ELSEWHERE, is_there
from tests.hostile.record import record_result

AT_ONCE = 3  # they mostly wait: for a box to start, for a limit to strike
CASES = list_cases()
TRIOS = [CASES[start : start + AT_ONCE] for start in range(0, len(CASES), AT_ONCE)]


@pytest.mark.rotating
@pytest.mark.slow("a box for each attack and for whoever comes after it, and some wait for a limit to strike")
@pytest.mark.parametrize("trio", TRIOS, ids=["+".join(folder.name for folder in trio) for trio in TRIOS])
def test_hostile_submissions(
    trio: list[Path],
    hostile_sandboxes: Sandboxes,
    hostile_data: Data,
    honest_reference: Seen,
    scratch: Path,
    subtests: pytest.Subtests,
) -> None:
    """Three attack at once; then an honest one comes, and finds everything as it always was."""

    def attack(folder: Path) -> Seen:
        expected = read_expected(folder).under(hostile_sandboxes.name)
        own = scratch / folder.name
        own.mkdir(exist_ok=True)
        return evaluate(hostile_sandboxes, hostile_data, folder, expected, own)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(attack, trio))
    for folder, seen in zip(trio, found, strict=True):
        expected = read_expected(folder).under(hostile_sandboxes.name)
        record_result(folder.name, seen, hostile_sandboxes.name)
        with subtests.test(folder.name):
            if seen.growth_mib >= expected.worker_growth_mib:  # of all three: of this one alone?
                seen = attack(folder)
            ends_as_expected(seen, expected, hostile_data)
    after = evaluate(hostile_sandboxes, hostile_data, None, HONEST, scratch)
    assert after.outcome.verdict == Verdict.OK, after.outcome.failure
    assert after.scores == honest_reference.scores
    for now, before in zip(answers(after.outcome), answers(honest_reference.outcome), strict=True):
        assert np.array_equal(now, before)


def ends_as_expected(seen: Seen, expected: Expected, data: Data) -> None:
    """The verdict, what is left on the machine, what was logged and what is told."""
    failure = seen.outcome.failure
    assert seen.outcome.verdict in expected.verdict, (failure, seen.text[-2000:])
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
        assert data.canary not in text
    for forbidden in expected.never_tell:
        assert forbidden not in told


def test_numbers_are_complete() -> None:
    """All 46 of the sandbox page are somewhere: here as submissions, or in the tests that `elsewhere` names."""
    here = {read_expected(folder).number for folder in list_cases()}
    assert here | {item.number for item in ELSEWHERE} >= set(range(1, 47))


@pytest.mark.parametrize("test", sorted({test for item in ELSEWHERE for test in item.tests}))
def test_what_is_held_elsewhere_is_there(test: str) -> None:
    assert is_there(test)


def test_honest_submission_scores(honest_reference: Seen) -> None:
    assert honest_reference.outcome.verdict == Verdict.OK, honest_reference.outcome.failure
    assert len(honest_reference.scores) == HONEST.tasks

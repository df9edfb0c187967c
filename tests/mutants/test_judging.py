"""The judge: what kills a mutant, and what only breaks Python."""

from dataclasses import replace

import pytest

from tests.mutants import judging
from tests.mutants.catalogue import Mutant
from tests.mutants.judging import judge

RANKS = Mutant(
    area="judge",
    name="the second is the first",
    file="scoring/anyshot_scoring/rankings.py",
    find="without_rounding(score) > without_rounding(gate)",
    replace="without_rounding(score) >= without_rounding(gate)",
    tests=("tests/scoring/test_rankings.py",),
)


@pytest.mark.slow("three runs of pytest, each with a wrong change")
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ("without_rounding(score) >= without_rounding(gate)", "killed"),
        ("without_rounding(gate) < without_rounding(score)", "SURVIVED"),
        ("without_rounding(points) > without_rounding(gate)", "INVALID"),
    ],
)
def test_only_a_wrong_decision_that_a_test_sees_is_killed(change: str, verdict: str) -> None:
    assert judge(replace(RANKS, replace=change))[0] == verdict


@pytest.mark.slow("two runs of pytest")
def test_a_text_that_is_not_there_is_invalid_and_tests_that_are_not_there_did_not_run() -> None:
    assert judge(replace(RANKS, find="no such text"))[0] in ("INVALID", "NOT RUN")
    assert judge(replace(RANKS, tests=("tests/scoring/test_nothing.py",)))[0] == "NOT RUN"


@pytest.mark.slow("a process that breaks down")
def test_a_process_that_breaks_down_before_pytest_kills_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_run", int)  # given these arguments, it raises
    assert judge(RANKS)[0] == "NOT RUN"

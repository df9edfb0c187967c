"""What was recorded is what the wire's models say, and holds every kind of job and every end that the code knows."""

import copy

import pytest

from anyshot_core.wire.jobs import JobKind
from anyshot_core.wire.reports import REPORTS
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.chain import KINDS
from tests.contract import recording
from tests.contract.test_jobs import PLAYED

WORK = sorted((set(JobKind) - {JobKind.ANALYSE}) | set(REPORTS))


@pytest.mark.parametrize("name", recording.names())
def test_a_recorded_message_is_what_its_model_says(name: str) -> None:
    message = recording.recorded(name)
    assert recording.say(name, message) == message, "record anew: make record"


def test_every_kind_of_job_and_every_verdict_has_a_contract_test() -> None:
    """Whoever adds a kind, a report or a verdict plays it in tests/contract and records it."""
    known = set(recording.names())
    found = {"clean", "known", "code", "weights", "unended"}
    assert set(PLAYED) == set(Verdict), "a verdict is played by no test"
    assert {f"job-{kind}" for kind in WORK} | {f"complete-{kind}" for kind in WORK} <= known
    said = set(Verdict) - {Verdict.OK, Verdict.WORKER_LOST}  # which no worker says of itself
    assert {f"fail-{verdict}" for verdict in said} <= known
    assert {f"evidence-{what}" for what in found} <= known
    assert set(recording.MODELS) - {"complete", "fail", "evidence"} | {"release-unreadable"} <= known
    assert len(KINDS) == len(JobKind)


def test_a_change_of_fields_or_types_is_found() -> None:
    one = recording.recorded("complete-evaluate")
    assert not list(recording.differences(one, copy.deepcopy(one)))
    less, other = copy.deepcopy(one), copy.deepcopy(one)
    del less["usage"]["cpu_seconds"]
    other["summary"]["tasks"] = "six"
    assert list(recording.differences(one, less)) == [".usage.cpu_seconds: only in the recorded"]
    assert list(recording.differences(one, other)) == [".summary.tasks: number was recorded, str is said now"]
    with pytest.raises(AssertionError, match="no suspicious"):
        recording.play("complete-evaluate", suspicious=[])


def test_ids_are_counted_and_numbers_stay() -> None:
    drawn, number = "0f" * 16, int("12" * 16)
    made = recording.with_plain_ids(
        {"at": f"/runs/{drawn}/log", "id": drawn, "seed": number, "text": 'says "no"'}
    )
    assert made == {
        "at": f"/runs/{1:032x}/log",
        "id": f"{1:032x}",
        "seed": number,
        "text": 'says "no"',
    }

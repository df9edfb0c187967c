"""The numbers of the list that are no submissions: uploads, and what happens to workers, leases and daemons."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Elsewhere:
    """One number of the list, and the tests that hold it, as pytest names them."""

    number: int
    attack: str
    tests: tuple[str, ...]


ELSEWHERE = (
    Elsewhere(
        40,
        "Upload: path traversal, absolute paths, links, set-user-id, duplicates, NUL, names that differ in case",
        ("tests/hostile/test_uploads.py::test_upload_is_refused_at_once",),
    ),
    Elsewhere(
        41,
        "Upload: a bomb of 1000:1, overlapping entries, lying sizes, 100,000 entries",
        ("tests/hostile/test_uploads.py::test_upload_is_refused_at_once",),
    ),
    Elsewhere(
        42,
        "`kill -9` of the worker",
        (
            "tests/worker/sandbox/test_janitor.py::test_killed_worker_leaves_nothing",
            "tests/end_to_end/test_upload_to_leaderboard.py::test_distributed_survives_the_death_of_a_worker",
        ),
    ),
    Elsewhere(
        43,
        "A lost lease whose worker goes on: what it sends late is refused",
        (
            "tests/platform/core/test_leases.py::test_a_lost_lease_goes_to_another_worker_and_the_old_one_is_refused",
            "tests/worker/test_attempt.py::test_an_attempt_that_lost_its_lease_says_nothing",
        ),
    ),
    Elsewhere(
        44,
        "A message delivered five times at once",
        ("tests/platform/core/test_leases.py::test_five_at_once_get_one_run",),
    ),
    Elsewhere(
        45,
        "The broker flushed, the broker away",
        (
            "tests/platform/core/test_leases.py::test_a_wiped_broker_is_rung_again",
            "tests/platform/core/test_operations.py::test_the_broker_may_be_away",
        ),
    ),
    Elsewhere(
        46,
        "Cancelled while it waits, runs or is scored; the Docker daemon restarted in mid-run",
        (
            "tests/platform/core/test_leases.py::test_cancelling_a_queued_run_ends_it_at_once",
            "tests/worker/test_attempt.py::test_a_cancel_ends_the_attempt",
            "tests/worker/test_attempt.py::test_a_cancel_while_it_is_scored_leaves_no_score",
            "tests/worker/sandbox/test_janitor.py::test_a_box_whose_daemon_went_away_is_nobodys_fault_and_is_left_to_the_janitor",
        ),
    ),
)


def is_there(test: str) -> bool:
    """Whether the file has a function of that name."""
    file, _, name = test.partition("::")
    return f"\ndef {name}(" in (ROOT / file).read_text()

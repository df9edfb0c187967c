"""A lease lives while its attempt does, and tells it when to stop."""

import threading
import time
from pathlib import Path
from typing import cast

import pytest

from anyshot_core.wire.worker_api import HeartbeatReply, Progress
from anyshot_worker import lease as lease_module
from anyshot_worker.client import (
    OUTAGE_SECONDS,
    PlatformUnreachable,
    RequestRefused,
    StaleEpoch,
    WorkerApiError,
    WorkerClient,
)
from anyshot_worker.lease import Lease, StopReason
from tests.contract.recording import job, play, recorded

ROOT = Path(__file__).parents[2]


class Platform:
    """Answers heartbeats with what it is told to."""

    def __init__(self, *answers: HeartbeatReply | Exception) -> None:
        self.answers, self.beats = list(answers), list[Progress]()

    def heartbeat(self, run_id: str, epoch: int, progress: Progress, measures: object = ()) -> HeartbeatReply:
        assert (run_id, epoch) == ("r", 3)
        self.beats.append(progress)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


FINE, CANCEL = (HeartbeatReply.model_validate(play("reply", cancel=cancel)) for cancel in (False, True))


def at(stage: str, tasks_done: int) -> Progress:
    """Where an attempt stands, as real workers tell it."""
    return Progress.model_validate(
        recorded("heartbeat")["progress"] | {"stage": stage, "tasks_done": tasks_done}
    )


@pytest.fixture(autouse=True)
def quick_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_module, "HEARTBEAT_SECONDS", 0.01)


def lease_on(
    platform: Platform, draining: threading.Event | None = None, lease_seconds: float = 30.0
) -> Lease:
    assignment = job("evaluate", run_id="r", epoch=3, lease_seconds=lease_seconds)
    return Lease(cast(WorkerClient, platform), assignment, draining or threading.Event())


def wait_for_stop(lease: Lease) -> StopReason | None:
    deadline = time.monotonic() + 60
    while lease.stop_reason is None and time.monotonic() < deadline:
        time.sleep(0.005)
    return lease.stop_reason


def test_beats_carry_the_newest_progress_and_end_with_the_attempt() -> None:
    platform = Platform(FINE)
    with lease_on(platform) as lease:
        lease.report(at("meta_testing", 5))
        while not any(beat.tasks_done == 5 for beat in platform.beats):
            time.sleep(0.005)
        assert lease.stop_reason is None
    beats = len(platform.beats)
    time.sleep(0.05)
    assert len(platform.beats) == beats and platform.beats[-1].tasks_done == 5


def test_beats_are_as_far_apart_as_the_platform_asks() -> None:
    platform = Platform(FINE.model_copy(update={"pace_seconds": 600.0}))
    with lease_on(platform) as lease:
        while not platform.beats:
            time.sleep(0.005)
        time.sleep(0.1)
        assert len(platform.beats) == 1 and lease.stop_reason is None


def test_a_cancel_arrives_with_the_reply() -> None:
    with lease_on(Platform(FINE, CANCEL)) as lease:
        assert wait_for_stop(lease) is StopReason.CANCELLED


def test_a_lease_that_went_elsewhere_is_lost() -> None:
    with lease_on(Platform(StaleEpoch("stale"))) as lease:
        assert wait_for_stop(lease) is StopReason.LOST


@pytest.mark.parametrize("error", [PlatformUnreachable("away"), RequestRefused("what is that?")])
def test_a_platform_that_takes_no_beat_for_a_moment_loses_nothing(error: WorkerApiError) -> None:
    with lease_on(Platform(error, error, FINE, CANCEL)) as lease:
        assert wait_for_stop(lease) is StopReason.CANCELLED  # it went on beating


def test_a_measure_that_cannot_be_taken_costs_no_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread ended with it: the run went to the next worker, while this one worked on to the end of the budget."""

    def sample() -> None:
        raise ValueError("a bug of ours")

    lease = lease_on(Platform(FINE, FINE, CANCEL))
    monkeypatch.setattr(lease.meter, "sample", sample)
    with lease:
        assert wait_for_stop(lease) is StopReason.CANCELLED  # it went on beating


def test_an_outage_longer_than_a_lease_loses_nothing() -> None:
    """The platform gives leases that ran out meanwhile a moment more, so the next beat finds the run still there."""
    platform = Platform(PlatformUnreachable("away"))
    with lease_on(platform, lease_seconds=1.0) as lease:
        time.sleep(1.5)
        assert lease.stop_reason is None
        platform.answers[:] = [FINE, CANCEL]
        assert wait_for_stop(lease) is StopReason.CANCELLED


def test_a_run_that_went_elsewhere_during_an_outage_is_lost() -> None:
    platform = Platform(PlatformUnreachable("away"))
    with lease_on(platform, lease_seconds=1.0) as lease:
        time.sleep(1.5)
        platform.answers[:] = [StaleEpoch("stale")]
        assert wait_for_stop(lease) is StopReason.LOST


def test_an_outage_without_end_ends_the_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_module, "OUTAGE_SECONDS", 0.1)
    with lease_on(Platform(PlatformUnreachable("away")), lease_seconds=0.1) as lease:
        assert wait_for_stop(lease) is StopReason.LOST


def test_the_outage_that_the_operators_are_promised_is_the_one_that_attempts_bear() -> None:
    page = ROOT / "docs" / "operators" / "deployment.md"
    assert f"runs whose workers live go on, for {OUTAGE_SECONDS / 60:.0f} minutes" in page.read_text()


def test_draining_stops_every_attempt() -> None:
    draining = threading.Event()
    with lease_on(Platform(FINE), draining) as lease:
        draining.set()
        assert lease.stop_reason is StopReason.DRAINING


def test_a_worker_that_stood_still_past_its_lease_gives_up_instead_of_going_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A paused process: what it measured meanwhile would be charged to the participant."""
    platform = Platform(FINE)
    with lease_on(platform, lease_seconds=30.0) as lease:
        while not platform.beats:
            time.sleep(0.005)
        real = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: real() + 36.0)
        assert wait_for_stop(lease) is StopReason.LOST

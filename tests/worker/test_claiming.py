"""A worker's slots: whose boxes live and end with which attempt."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from anyshot_core.wire.jobs import Job, JobKind
from anyshot_core.wire.worker_api import Limits, WorkerInfo
from anyshot_worker import claiming, process
from anyshot_worker.attempt import Site
from anyshot_worker.claiming import RunClaimer
from anyshot_worker.client import PlatformUnreachable, StaleEpoch, WorkerApiError, WorkerClient
from anyshot_worker.sandbox import AttemptKey, OpenBox, Sandboxes
from anyshot_worker.sandbox.gpu import Gpu, Gpus
from anyshot_worker.workspace import ROOM, Workspace
from tests.contract.recording import worker_info
from tests.worker.paper_platform import PaperPlatform
from tests.worker.sandbox.fake import FakeBackend, FakeBox
from tests.worker.sandbox.machine import sandbox_settings
from tests.worker.sandbox.test_gpu import FakeDevices

PATIENCE = 60  # seconds for another thread


class Slots:
    """A worker with two slots, whose attempts open a box and wait to be told to end."""

    def __init__(self, folder: Path) -> None:
        self.platform, self.folder = PaperPlatform(), folder
        client = cast(WorkerClient, self.platform)
        self.sandboxes = Sandboxes(FakeBackend(), sandbox_settings(folder / "state"))
        self.devices = FakeDevices([Gpu("GPU-a", "card"), Gpu("GPU-b", "card")])
        self.sandboxes._gpus = Gpus(folder / "locks", self.devices)  # pyright: ignore[reportPrivateUsage]
        workspace = Workspace(folder / "workspace", 1 << 30, client)
        self.site = Site("tester", client, workspace, self.sandboxes, threading.Event())
        told = worker_info(name="tester", gpus=self.sandboxes.gpu_names())
        self.claimer = RunClaimer(self.site, told, slots=2, poll_seconds=60)
        self.boxes: dict[int, OpenBox] = {}
        self.threads: list[threading.Thread] = []
        self.others: list[Gpus] = []
        self.begun = {epoch: threading.Event() for epoch in (1, 2)}
        self.may_end = {epoch: threading.Event() for epoch in (1, 2)}

    def carry_out(self, assignment: Job, site: Site) -> None:
        """In the place of what a submission does."""
        epoch = assignment.epoch
        self.boxes[epoch] = site.sandboxes.open(None, Limits(gpus=1), assignment.run_id, epoch)
        self.begun[epoch].set()
        assert self.may_end[epoch].wait(PATIENCE)

    def start(self, epoch: int) -> threading.Thread:
        self.platform.queue.append(self.platform.job(JobKind.EVALUATE, epoch=epoch))
        thread = threading.Thread(target=self.claimer.work)
        self.threads.append(thread)
        thread.start()
        assert self.begun[epoch].wait(PATIENCE)
        return thread

    def closed(self, epoch: int) -> bool:
        return cast(FakeBox, self.boxes[epoch].box).closed


@pytest.fixture
def slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slots]:
    made = Slots(tmp_path)
    monkeypatch.setattr(claiming, "carry_out", made.carry_out)
    yield made
    for event in made.may_end.values():
        event.set()
    for thread in made.threads:
        thread.join(PATIENCE)
    made.sandboxes.close()


def test_an_attempt_that_ends_leaves_the_next_one_of_its_run_alone(slots: Slots) -> None:
    """A machine that stood still: its run was queued again, and another slot has claimed it before the first ended."""
    first, second = slots.start(1), slots.start(2)
    slots.may_end[1].set()
    first.join(PATIENCE)
    assert (slots.closed(1), slots.closed(2)) == (True, False)
    assert not slots.claimer.idle
    slots.may_end[2].set()
    second.join(PATIENCE)
    assert slots.closed(2) and slots.claimer.idle


def test_a_worker_that_stops_gives_back_the_lease_of_an_attempt_that_does_not_end(
    slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A download, an inspection or an upload looks at no signal, and may take longer than there is time."""
    monkeypatch.setattr(process, "DRAIN_SECONDS", 0.2)
    slots.start(1)
    process.drain(slots.claimer)
    assert slots.platform.released == ["run"]


def test_a_worker_that_stops_gives_back_nothing_for_attempts_that_have_ended(slots: Slots) -> None:
    attempt = slots.start(1)
    slots.may_end[1].set()
    attempt.join(PATIENCE)
    process.drain(slots.claimer)
    assert not slots.platform.released


@pytest.mark.parametrize("error", [PlatformUnreachable("away"), StaleEpoch("another has it")])
def test_a_lease_that_cannot_be_given_back_stops_no_stopping(
    slots: Slots, monkeypatch: pytest.MonkeyPatch, error: WorkerApiError
) -> None:
    def release(run_id: str, epoch: int) -> None:
        raise error

    monkeypatch.setattr(process, "DRAIN_SECONDS", 0.0)
    monkeypatch.setattr(slots.platform, "release", release)
    slots.start(1)
    process.drain(slots.claimer)


def test_a_worker_that_stays_until_it_is_idle_ends_after_its_last_run(slots: Slots) -> None:
    attempt = slots.start(1)
    slots.claimer.work()  # the other slot finds nothing
    serving = threading.Thread(
        target=process.wait_for_the_end, args=(slots.claimer, slots.site.draining, True)
    )
    serving.start()
    serving.join(5 * process.LOOK_SECONDS)
    assert serving.is_alive(), "its run goes on"
    slots.may_end[1].set()
    attempt.join(PATIENCE)
    serving.join(PATIENCE)
    assert not serving.is_alive() and len(slots.platform.claims) == 3


def test_a_worker_does_not_take_a_platform_that_is_away_for_an_empty_queue(
    slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    def claim(worker: WorkerInfo) -> None:
        raise PlatformUnreachable("away")

    monkeypatch.setattr(slots.platform, "claim", claim)
    slots.claimer.work()
    assert not slots.claimer.done


def test_a_worker_whose_time_is_up_hands_its_run_over(slots: Slots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "DRAIN_SECONDS", 0.2)
    slots.start(1)
    process.wait_for_the_end(slots.claimer, slots.site.draining, False, time.monotonic() + 0.5)
    process.drain(slots.claimer)
    assert slots.platform.released == ["run"]


def sicken(slots: Slots) -> None:
    slots.devices.gpus = [replace(gpu, healthy=False) for gpu in slots.devices.gpus]


def occupy(slots: Slots) -> None:
    slots.devices.busy = {gpu.uuid: [42] for gpu in slots.devices.gpus}


def lend(slots: Slots) -> None:
    """To another worker of this machine."""
    other = Gpus(slots.folder / "locks", slots.devices)
    slots.others.append(other)
    other.take(2, AttemptKey("another", 1))


@pytest.mark.parametrize("trouble", [sicken, occupy, lend])
def test_a_worker_without_a_free_gpu_claims_nothing(slots: Slots, trouble: Callable[[Slots], None]) -> None:
    """A run would fail at once, and three of those give it up."""
    trouble(slots)
    slots.platform.queue.append(slots.platform.job(JobKind.EVALUATE))
    slots.claimer.work()
    assert len(slots.platform.queue) == 1 and not slots.platform.claims


def test_a_worker_claims_with_the_gpus_that_are_free(slots: Slots) -> None:
    slots.start(1)
    slots.claimer.work()
    occupy(slots)
    slots.claimer.work()
    slots.devices.busy.clear()
    slots.may_end[1].set()
    slots.threads[0].join(PATIENCE)
    a, b = "card (GPU-a)", "card (GPU-b)"
    assert [claim.gpus for claim in slots.platform.claims] == [[a, b], [b], [a, b]]


def test_a_worker_without_room_on_its_disk_claims_nothing(
    slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run would fail at once, and the whole queue with it."""
    slots.may_end[1].set()
    left = [ROOM - 1]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=left[0]))
    slots.platform.queue.append(slots.platform.job(JobKind.EVALUATE))
    slots.claimer.work()
    assert len(slots.platform.queue) == 1 and not slots.platform.claims
    left[0] = ROOM
    slots.claimer.work()
    assert not slots.platform.queue


def test_operators_are_told_how_much_room_a_worker_needs() -> None:
    page = Path(__file__).parents[2] / "docs" / "operators" / "deployment.md"
    assert f"with less than {ROOM >> 30} GiB left the worker claims nothing" in page.read_text()


def test_all_slots_work_while_nobody_rings(slots: Slots) -> None:
    """The broker may be away for as long as a run takes."""
    slots.platform.queue += [slots.platform.job(JobKind.EVALUATE, epoch=epoch) for epoch in (1, 2)]
    slots.claimer = RunClaimer(slots.site, worker_info(name="tester"), slots=2, poll_seconds=0.01)
    slots.claimer.open()
    assert all(begun.wait(PATIENCE) for begun in slots.begun.values())
    slots.site.draining.set()


def test_an_idle_worker_asks_no_more_often_than_the_platform_wants(slots: Slots) -> None:
    slots.platform.pace_seconds = 600.0
    slots.claimer = RunClaimer(slots.site, worker_info(name="tester"), slots=1, poll_seconds=0.01)
    slots.claimer.open()
    time.sleep(0.2)
    assert not slots.platform.claims


def test_a_worker_without_gpus_asks_for_none(slots: Slots, monkeypatch: pytest.MonkeyPatch) -> None:
    """`nvidia-smi` is slow, and each poll would wait for it."""
    slots.claimer = RunClaimer(slots.site, worker_info(name="tester", gpus=[]), slots=1, poll_seconds=60)
    monkeypatch.setattr(slots.devices, "list", lambda: pytest.fail("asked"))
    slots.claimer.work()
    assert [claim.gpus for claim in slots.platform.claims] == [[]]

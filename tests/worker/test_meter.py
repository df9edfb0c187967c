"""An attempt's measures: means over stretches that grow, never across a stage, none lost on a broken line."""

import math
import threading
from typing import Any, cast

import pytest

from anyshot_core.wire.messages import LoggerRow
from anyshot_core.wire.worker_api import HeartbeatReply, Measure, Progress, Series, Stage
from anyshot_worker.client import PlatformUnreachable, WorkerClient
from anyshot_worker.lease import Lease
from anyshot_worker.meter import STRETCHES, Meter
from anyshot_worker.sandbox.gpu import GpuUse
from anyshot_worker.sandbox.interface import BoxUsage
from tests.contract.recording import job, play
from tests.worker.test_lease import at

FINE = HeartbeatReply.model_validate(play("reply", cancel=False))


class Box:
    """A sandbox that has used what the test says."""

    def __init__(self) -> None:
        self.cpu, self.memory = 0.0, 100

    def usage(self) -> BoxUsage:
        return BoxUsage(self.cpu, memory_bytes=self.memory)


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def row(
    iteration: int, loss: float, accuracy: float, *, validation: bool = False, step: int = 0
) -> LoggerRow:
    return LoggerRow(validation, step, iteration, 5, 1, loss, accuracy, (accuracy - 0.2) / 0.8)


def measured(meter: Meter, series: Series, **options: Any) -> list[Measure]:
    return [one for one in meter.take(**options) if one.series == series]


def test_a_stretch_has_the_mean_of_the_cores_and_the_peak_of_the_memory() -> None:
    clock, box = Clock(), Box()
    meter = Meter(clock)
    meter.watch(box, lambda: GpuUse(0.5, 7))
    for cpu, memory in ((2.0, 300), (3.0, 200)):
        clock.now += 1
        box.cpu, box.memory = cpu, memory
        meter.sample()
    (one,) = measured(meter, Series.RESOURCES)
    assert (one.seq, one.stage, one.seconds, one.width) == (0, Stage.PREPARING, 2.0, 2.0)
    assert (one.cpu_cores, one.memory_bytes, one.gpu_share, one.gpu_memory_bytes) == (1.5, 300, 0.5, 7)
    assert meter.take() == []


def test_a_stretch_shorter_than_a_beat_tells_its_memory() -> None:
    clock, box = Clock(), Box()
    meter = Meter(clock)
    meter.watch(box, GpuUse)
    for stage, memory in ((Stage.META_TRAINING, 300), (Stage.META_TESTING, 200)):
        clock.now += 0.1
        box.memory = memory
        meter.enter(stage)
    assert [one.memory_bytes for one in measured(meter, Series.RESOURCES)] == [300, 200]


def test_rows_of_the_logger_are_averaged_and_what_is_no_number_is_left_out() -> None:
    clock = Clock()
    meter = Meter(clock)
    for number, loss in enumerate((1.0, 3.0, math.nan), 1):
        meter.row(row(number, loss, 0.5))
    meter.row(row(1, 9.0, 1.0, validation=True, step=4))
    clock.now += 2
    meter.sample()
    training, validation = meter.take()
    assert (training.series, training.step, training.rows, training.loss, training.accuracy) == (
        Series.TRAINING,
        3,
        3,
        2.0,
        0.5,
    )
    assert (validation.series, validation.step, validation.loss) == (Series.VALIDATION, 4, 9.0)


@pytest.mark.parametrize("validation", [False, True])
def test_a_counter_beyond_what_a_measure_holds_is_told_as_the_most(validation: bool) -> None:
    """A submission sets its logger's counter as it likes."""
    clock = Clock()
    meter = Meter(clock)
    meter.row(row(2**32 - 1, 1.0, 0.5, validation=validation, step=2**32 - 1))
    clock.now += 2
    meter.sample()
    (one,) = meter.take()
    assert (one.step, one.rows, one.loss) == (2**31 - 1, 1, 1.0)


def test_however_long_an_attempt_takes_its_measures_are_some_hundred() -> None:
    clock, box = Clock(), Box()
    meter = Meter(clock)
    meter.watch(box, GpuUse)
    found: list[Measure] = []
    for _ in range(9_000):  # five hours of beats
        clock.now += 2
        box.cpu += 2
        meter.sample()
        found += meter.take()
    assert 200 < len(found) < 500 and [one.seq for one in found] == list(range(len(found)))
    assert all(math.isclose(one.cpu_cores or 0, 1.0) for one in found)
    assert found[-1].width >= found[-1].seconds / STRETCHES > found[0].width


def test_no_stretch_crosses_into_meta_testing() -> None:
    """What a submission uses while it sees hidden images is told apart, to the moment, from what it used before."""
    clock, box = Clock(), Box()
    meter = Meter(clock)
    meter.watch(box, GpuUse)
    meter.enter(Stage.META_TRAINING)
    clock.now, box.cpu = clock.now + 1, 1.0
    meter.enter(Stage.META_TESTING)
    clock.now, box.cpu = clock.now + 1, 5.0
    before, after = measured(meter, Series.RESOURCES, everything=True)
    assert (before.stage, before.cpu_cores) == (Stage.META_TRAINING, 1.0)
    assert (after.stage, after.cpu_cores) == (Stage.META_TESTING, 4.0)


def test_what_a_box_used_while_it_was_kept_ready_is_not_the_attempts() -> None:
    clock, box = Clock(), Box()
    box.cpu = 3.0
    meter = Meter(clock)
    meter.watch(box, GpuUse)
    box.cpu, clock.now = 3.5, clock.now + 1
    meter.rest()
    (found,) = measured(meter, Series.RESOURCES)
    assert found.cpu_cores == 0.5


def test_boxes_one_after_another_are_one_account() -> None:
    clock, one, two = Clock(), Box(), Box()
    meter = Meter(clock)
    meter.watch(one, GpuUse)
    one.cpu = 1.0
    meter.watch(two, GpuUse)
    two.cpu = 2.0
    clock.now += 2
    meter.rest()
    clock.now += 60
    meter.sample()
    (found,) = measured(meter, Series.RESOURCES, everything=True)
    assert found.cpu_cores == 1.5  # and nothing of the minute in which no box was open


class Platform:
    """Away for the first beats that carry measures."""

    def __init__(self, away: int) -> None:
        self.away, self.got = away, list[Measure]()

    def heartbeat(
        self, run_id: str, epoch: int, progress: Progress, measures: list[Measure]
    ) -> HeartbeatReply:
        if measures and self.away:
            self.away -= 1
            raise PlatformUnreachable("away")
        self.got += measures
        return FINE


def test_measures_wait_while_the_platform_is_away_and_the_last_ones_come_before_the_end(
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr("anyshot_worker.lease.HEARTBEAT_SECONDS", 0.01)
    platform = Platform(away=2)
    assignment = job("evaluate", run_id="r", epoch=3, lease_seconds=30.0)
    lease = Lease(cast(WorkerClient, platform), assignment, cast(Any, _Never()))
    lease.meter.row(row(1, 1.0, 0.5))
    lease.report(at("meta_training", 0))  # ends the stretch of the stage before
    with lease:
        while platform.away:
            lease._ended.wait(0.005)
        lease.meter.row(row(2, 2.0, 0.5))
        lease.flush()
        lease.flush()  # nothing twice
    assert [(one.series, one.step, one.loss) for one in platform.got] == [
        (Series.TRAINING, 1, 1.0),
        (Series.TRAINING, 2, 2.0),
    ]


def test_the_last_measures_wait_for_a_beat_that_is_under_way(monkeypatch: Any) -> None:
    """What that beat fails to send goes with them, in order; it was lost with the attempt's end."""
    monkeypatch.setattr("anyshot_worker.lease.HEARTBEAT_SECONDS", 0.01)
    asked, fail = threading.Event(), threading.Event()

    class Stumbling(Platform):
        def heartbeat(
            self, run_id: str, epoch: int, progress: Progress, measures: list[Measure]
        ) -> HeartbeatReply:
            if self.away and measures:
                asked.set()
                assert fail.wait(60)
            return super().heartbeat(run_id, epoch, progress, measures)

    platform = Stumbling(away=1)
    assignment = job("evaluate", run_id="r", epoch=3, lease_seconds=30.0)
    lease = Lease(cast(WorkerClient, platform), assignment, cast(Any, _Never()))
    lease.meter.row(row(1, 1.0, 0.5))
    lease.report(at("meta_training", 0))
    with lease:
        assert asked.wait(60)
        lease.meter.row(row(2, 2.0, 0.5))
        last = threading.Thread(target=lease.flush)
        last.start()
        last.join(0.1)  # time enough for one that does not wait
        fail.set()
        last.join()
    assert [one.step for one in platform.got] == [1, 2]


class _Never:
    def is_set(self) -> bool:
        return False

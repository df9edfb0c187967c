"""Whose time it is: the clock stands still here, but where code in the box stretches a step."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anyshot_core.taskserver.job import Hooks, JobOutcome, TaskServerJob
from anyshot_core.taskserver.ledger import SPARED_SHARE, Ledger
from anyshot_core.taskserver.server import serve, serve_features, serve_isolated
from anyshot_core.taskserver.tasks import JoinedTasks
from anyshot_core.wire import messages
from anyshot_core.wire.frames import FROM_TASK_SERVER, Frame, FrameType
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Budget, PlatformStep
from tests.core.taskserver.puppet import Act, Puppet, PuppetChannel
from tests.core.taskserver.test_hostile_frames import SmallTasks, job

__all__ = ["job"]  # the fixture
STRETCH = 100.0  # seconds
# Before the code of a submission is imported, and when nothing that it does counts any more; SAVE is sent in the time
# of TRAIN.
HARMLESS = {
    FrameType.BUNDLE,
    FrameType.UNPACK,
    FrameType.STORE,
    FrameType.RESTORE,
    FrameType.FINISH,
    FrameType.SAVE,
}
IN_REACH = sorted(FROM_TASK_SERVER - HARMLESS)
PAYS = {
    FrameType.JOB: "load",
    FrameType.IMPORT: "import",
    FrameType.TRAIN: "meta_fit",
    FrameType.EXPORT: "meta_fit",
    FrameType.LOAD: "load",
    FrameType.SUPPORT: "fit",
    FrameType.QUERY: "predict",
    FrameType.FEATURES: "features",
}


class Clock:
    """A clock that only a test moves; `stretched` counts how often."""

    def __init__(self, seconds: float = STRETCH) -> None:
        self.now, self.stretched, self._seconds = 0.0, 0, seconds

    def __call__(self) -> float:
        return self.now

    def stretch(self) -> None:
        self.now += self._seconds
        self.stretched += 1

    def first(self, act: Act) -> Act:
        """The act, after a stretch."""

        def late(puppet: Puppet, frame: Frame) -> None:
            self.stretch()
            act(puppet, frame)

        return late


class SlowReading(PuppetChannel):
    """Code that reads commands of a kind so slowly that sending takes long; the first JOB comes before any code."""

    kind: FrameType
    stretch: Callable[[], None]
    jobs = 0

    def send(self, data: bytes | memoryview, timeout: float) -> None:
        kind = FrameType(data[0])
        self.jobs += kind is FrameType.JOB
        if kind is self.kind and (kind is not FrameType.JOB or self.jobs > 1):
            self.stretch()
        super().send(data, timeout)


def layers(puppet: Puppet, frame: Frame) -> None:
    puppet.send(FrameType.LEARNER, messages.pack_layers({}))
    puppet.reply(FrameType.EXPORTED, frame)


ACTS: dict[FrameType, Act] = dict.fromkeys(FROM_TASK_SERVER, Puppet.honest) | {FrameType.FEATURES: layers}


@pytest.fixture
def long(job: TaskServerJob, tmp_path: Path) -> TaskServerJob:
    """Trains, keeps the learner, and tests it twice."""
    tasks = JoinedTasks((SmallTasks(), SmallTasks()))
    return replace(job, tasks=tasks, budget=Budget(run_seconds=5000), keep_learner=tmp_path / "learner")


def run(channel: PuppetChannel, job: TaskServerJob, kind: FrameType, clock: Clock) -> JobOutcome:
    if kind is not FrameType.FEATURES:
        return serve(channel, job, clock=clock)
    learner = job.bundle  # any file
    return serve_features(
        channel, replace(job, tasks=None, learner=learner), np.zeros((1, 3, 8, 8), np.uint8), clock=clock
    )


def is_charged(outcome: JobOutcome, clock: Clock, step: str) -> bool:
    """All of the stretches but a second each; whatever is not charged is named."""
    assert outcome.failure is None, outcome.failure
    assert clock.stretched and outcome.time.participant[step] >= clock.stretched * (STRETCH - 1.01)
    everything = outcome.time.participant_seconds + sum(outcome.time.platform.values())
    return outcome.time.odd == {} and everything == pytest.approx(clock.now)


@pytest.mark.parametrize("kind", IN_REACH, ids=lambda kind: kind.name)
def test_a_command_that_is_read_slowly_is_charged(long: TaskServerJob, kind: FrameType) -> None:
    """Each that is sent once participants' code has run, before it has answered."""
    clock, channel = Clock(), SlowReading(dict(ACTS))
    channel.kind, channel.stretch = kind, clock.stretch
    assert is_charged(run(channel, long, kind, clock), clock, PAYS[kind])
    channel.close()


@pytest.mark.parametrize(
    "kind", [kind for kind in IN_REACH if kind is not FrameType.JOB], ids=lambda k: k.name
)
def test_a_command_that_is_answered_late_is_charged(long: TaskServerJob, kind: FrameType) -> None:
    clock = Clock()
    channel = PuppetChannel(ACTS | {kind: clock.first(ACTS[kind])})
    assert is_charged(run(channel, long, kind, clock), clock, PAYS[kind])
    channel.close()


def trained(losses: int) -> Act:
    def reply(puppet: Puppet, frame: Frame) -> None:
        puppet.reply(FrameType.TRAINED, frame, messages.pack_trained([1.0] * losses))

    return reply


def test_training_while_snapshots_are_copied_is_charged_for_each(long: TaskServerJob, tmp_path: Path) -> None:
    clock = Clock()
    channel = PuppetChannel({FrameType.TRAIN: trained(2), FrameType.EXPORT: clock.first(Puppet.honest)})
    snapshots = replace(long, snapshots=2, keep_snapshots=tmp_path / "snapshots")
    assert is_charged(serve(channel, snapshots, clock=clock), clock, "meta_fit") and clock.stretched == 3
    channel.close()


def test_training_while_the_learner_goes_to_isolated_tasks_is_charged(long: TaskServerJob) -> None:
    clock = Clock()
    acts = {FrameType.EXPORT: clock.first(Puppet.honest)}
    isolated = replace(long, tasks=SmallTasks(), keep_learner=None)
    assert is_charged(serve_isolated(lambda: PuppetChannel(acts), isolated, clock=clock), clock, "meta_fit")


@pytest.mark.parametrize("budget", [Budget(run_seconds=90), Budget(run_seconds=900, meta_train_seconds=90)])
def test_training_while_the_learner_is_copied_ends_with_the_budget(
    long: TaskServerJob, budget: Budget
) -> None:
    clock = Clock()
    channel = PuppetChannel({FrameType.EXPORT: clock.first(Puppet.honest)})
    outcome = serve(channel, replace(long, budget=budget), clock=clock)
    assert outcome.verdict is Verdict.TIME_LIMIT and outcome.results == ()
    assert outcome.failure is not None and "90 seconds" in outcome.failure.message
    channel.close()


def test_a_learner_of_any_size_is_copied_for_a_small_share_of_the_budget(
    long: TaskServerJob, tmp_path: Path
) -> None:
    """A large file is quickly made: its allowance, and that of many snapshots, would be a second training."""
    clock, budget, most = Clock(1.0), Budget(run_seconds=60), 1 + SPARED_SHARE * 60
    channel = PuppetChannel({FrameType.TRAIN: trained(9), FrameType.EXPORT: clock.first(Puppet.honest)})
    many = replace(long, budget=budget, snapshots=9, keep_snapshots=tmp_path / "snapshots")
    used = serve(channel, many, clock=clock).time
    assert (used.platform["learner"], used.participant["meta_fit"]) == (
        pytest.approx(most),
        pytest.approx(10 - most),
    )
    channel.close()


def test_an_honest_copy_costs_nothing(long: TaskServerJob) -> None:
    """64 MiB in two seconds."""

    def send(puppet: Puppet, frame: Frame) -> None:
        for _ in range(64):
            puppet.send(FrameType.LEARNER, bytes(1 << 20))
        puppet.reply(FrameType.EXPORTED, frame)

    clock = Clock(2.0)
    channel = PuppetChannel({FrameType.EXPORT: clock.first(send)})
    used = serve(channel, long, clock=clock).time
    assert (used.platform["learner"], used.participant["meta_fit"]) == (pytest.approx(2.0), 0.0)
    channel.close()


def test_what_takes_longer_than_it_may_and_is_charged_to_nobody_is_odd(long: TaskServerJob) -> None:
    clock = Clock()
    channel = PuppetChannel({FrameType.UNPACK: clock.first(Puppet.honest)})
    used = serve(channel, long, clock=clock).time
    assert used.platform["unpack"] == STRETCH and used.participant_seconds == 0.0
    assert used.odd == {"unpack": pytest.approx(STRETCH - 10, abs=1)}
    channel.close()


def test_time_between_two_steps_is_counted(long: TaskServerJob) -> None:
    clock = Clock()

    def look(_: object) -> None:
        if not clock.stretched:
            clock.stretch()

    channel = PuppetChannel({})
    used = serve(channel, long, Hooks(on_progress=look), clock=clock).time
    assert used.platform["between"] == STRETCH and used.odd == {"between": pytest.approx(70)}
    channel.close()


def test_no_time_in_a_box_is_the_platforms_without_an_allowance() -> None:
    with pytest.raises(KeyError):
        Ledger(Budget(run_seconds=60)).add_platform(PlatformStep.UPLOAD, 1.0)

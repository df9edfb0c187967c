"""Every frame in a wrong state, garbage, and endings at each step: the verdict, and no score."""

import json
import resource
import struct
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anyshot_core.taskserver.channel import ChannelClosed, Death
from anyshot_core.taskserver.job import (
    DrawnTask,
    Failure,
    Hooks,
    JobOutcome,
    LogLine,
    OutputCaps,
    TaskServerJob,
)
from anyshot_core.taskserver.server import serve
from anyshot_core.taskserver.tasks import query_order
from anyshot_core.wire.frames import HEADER, Frame, FrameType
from anyshot_core.wire.messages import CodeLine, ErrorKind, ErrorReport
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import Budget
from tests.core.taskserver.puppet import Act, Puppet, PuppetChannel


class SmallTasks:
    """Three 2-way tasks of grey images."""

    indices = range(3)

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def draw(self, index: int) -> DrawnTask:
        time.sleep(self.seconds if index else 0.0)
        support = np.zeros((2, 3, 8, 8), np.uint8)
        query = np.ones((6, 3, 8, 8), np.uint8)
        return DrawnTask(index, 0, 2, 1, support, np.array([0, 1]), query, np.array([0, 1] * 3))


@pytest.fixture
def job(tmp_path: Path) -> TaskServerJob:
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.py", "x = 1")
    return TaskServerJob(
        bundle=path, packs=(), tasks=SmallTasks(), budget=Budget(run_seconds=60), start_seconds=60
    )


class Stage:
    """Serves puppets and closes them."""

    def __init__(self, job: TaskServerJob) -> None:
        self.job = job
        self.channels: list[PuppetChannel] = []

    def serve(
        self, acts: dict[FrameType, Act], end: Death | None = None, job: TaskServerJob | None = None
    ) -> JobOutcome:
        channel = PuppetChannel(acts, end)
        self.channels.append(channel)
        return serve(channel, job or self.job, Hooks())


@pytest.fixture
def stage(job: TaskServerJob) -> Iterator[Stage]:
    stage = Stage(job)
    yield stage
    for channel in stage.channels:
        channel.close()


STEPS = (
    FrameType.UNPACK,
    FrameType.IMPORT,
    FrameType.TRAIN,
    FrameType.LOAD,
    FrameType.SUPPORT,
    FrameType.QUERY,
)
PARTICIPANTS = STEPS[1:]
REPLIES = (
    FrameType.READY,
    FrameType.UNPACKED,
    FrameType.IMPORTED,
    FrameType.TRAINED,
    FrameType.LOADED,
    FrameType.FITTED,
    FrameType.PREDICTIONS,
    FrameType.LEARNER,
    FrameType.EXPORTED,
    FrameType.RESTORED,
    FrameType.FINISHED,
)
RIGHT = dict(zip(STEPS, REPLIES[1:7], strict=True))


def test_the_honest_puppet_is_ok(stage: Stage) -> None:
    outcome = stage.serve({})
    assert outcome.failure is None and len(outcome.results) == 3
    assert stage.channels[0].killed


WRONG = [(step, reply) for step in PARTICIPANTS for reply in REPLIES if reply is not RIGHT[step]]


@pytest.mark.parametrize(("step", "wrong"), WRONG, ids=lambda kind: kind.name)
def test_a_frame_in_the_wrong_state_is_a_protocol_error(
    stage: Stage, step: FrameType, wrong: FrameType
) -> None:
    outcome = stage.serve({step: lambda puppet, frame: puppet.reply(wrong, frame)})
    assert outcome.verdict is Verdict.PROTOCOL_ERROR
    assert outcome.failure is not None and outcome.failure.verdict.cause is Cause.PARTICIPANT


def twice(puppet: Puppet, frame: Frame) -> None:
    puppet.honest(frame)
    puppet.honest(frame)


@pytest.mark.parametrize("step", PARTICIPANTS, ids=lambda kind: kind.name)
def test_a_reply_given_twice_is_a_protocol_error(stage: Stage, step: FrameType) -> None:
    assert stage.serve({step: twice}).verdict is Verdict.PROTOCOL_ERROR


def test_extra_frame_after_the_last_answer_is_a_protocol_error(stage: Stage) -> None:
    def again(puppet: Puppet, frame: Frame) -> None:
        puppet.send(FrameType.PREDICTIONS, b"\0" * 56)

    assert stage.serve({FrameType.FINISH: again}).verdict is Verdict.PROTOCOL_ERROR


FAREWELLS: dict[str, tuple[Act, Verdict]] = {
    "nothing": (lambda puppet, frame: None, Verdict.OK),
    "its end": (lambda puppet, frame: puppet.stream.shutdown(2), Verdict.OK),
    "garbage": (lambda puppet, frame: puppet.stream.sendall(bytes(64)), Verdict.PROTOCOL_ERROR),
    "an error": (
        lambda puppet, frame: puppet.send(
            FrameType.ERROR, ErrorReport(ErrorKind.EXCEPTION, "ValueError", "").to_bytes()
        ),
        Verdict.RUNTIME_ERROR,
    ),
}


@pytest.mark.parametrize(("act", "verdict"), FAREWELLS.values(), ids=FAREWELLS)
def test_what_comes_after_the_last_task(stage: Stage, act: Act, verdict: Verdict) -> None:
    """Silence and an end do no harm; what is said must be right."""
    assert stage.serve({FrameType.FINISH: act}).verdict is verdict


class Closing(PuppetChannel):
    """The runner reads nothing any more once the first query is to be sent."""

    def send(self, data: bytes | memoryview, timeout: float) -> None:
        if data[0] == FrameType.QUERY:
            raise ChannelClosed("Broken pipe")
        super().send(data, timeout)


def answer_nobody(puppet: Puppet, frame: Frame) -> None:
    for _ in range(20):
        puppet.send(FrameType.FITTED, bytes(8))


LAST_WORDS: dict[str, tuple[Act, Verdict]] = {
    "its error": (
        lambda puppet, frame: puppet.send(
            FrameType.ERROR, ErrorReport(ErrorKind.BAD_PREDICTION, "x", "x").to_bytes()
        ),
        Verdict.BAD_PREDICTION,
    ),
    "nothing": (lambda puppet, frame: puppet.stream.shutdown(2), Verdict.KILLED),
    "replies to nothing": (answer_nobody, Verdict.KILLED),
}


@pytest.mark.parametrize(("said", "verdict"), LAST_WORDS.values(), ids=LAST_WORDS)
def test_why_a_runner_reads_no_more_is_what_it_said_last(
    stage: Stage, job: TaskServerJob, said: Act, verdict: Verdict
) -> None:
    """Else it is how its process ended."""

    def answers(puppet: Puppet, frame: Frame) -> None:
        puppet.honest(frame)
        said(puppet, frame)

    channel = Closing({FrameType.SUPPORT: answers}, Death(exit_code=137))
    stage.channels.append(channel)
    outcome = serve(channel, job, Hooks())
    assert outcome.verdict is verdict and outcome.results == ()


def test_a_task_of_many_megabytes_arrives_whole(stage: Stage, job: TaskServerJob) -> None:
    class Large(SmallTasks):
        def draw(self, index: int) -> DrawnTask:
            pixels = np.full((400, 3, 128, 128), 7, np.uint8)
            return replace(super().draw(index), support=pixels, support_labels=np.arange(400) % 2)

    seen: list[int] = []

    def look(puppet: Puppet, frame: Frame) -> None:
        seen.append(len(frame.payload) - frame.payload.count(7))
        puppet.honest(frame)

    assert stage.serve({FrameType.SUPPORT: look}, job=replace(job, tasks=Large())).verdict is Verdict.OK
    assert len(seen) == 3 and max(seen) < 4000  # labels and a header beside the pixels


@pytest.mark.seconds("waits for a limit of the platform", each_time=True)
def test_a_sandbox_that_never_answers_is_ours(stage: Stage, job: TaskServerJob) -> None:
    silent = {FrameType.READY: lambda puppet, frame: None}
    outcome = stage.serve(silent, job=replace(job, start_seconds=1))
    assert outcome.verdict is Verdict.SANDBOX_START and outcome.failure is not None
    assert "did not answer for 1 s" in outcome.failure.message


@pytest.mark.seconds("waits for a limit of the platform", each_time=True)
def test_a_learner_that_nobody_takes_back_in_time_is_a_protocol_error(
    stage: Stage, job: TaskServerJob, tmp_path: Path
) -> None:
    (learner := tmp_path / "learner").write_bytes(b"learner")
    silent = {FrameType.RESTORE: lambda puppet, frame: None}
    outcome = stage.serve(silent, job=replace(job, start_seconds=1, learner=learner))
    assert outcome.verdict is Verdict.PROTOCOL_ERROR and outcome.failure is not None
    assert "no answer for 1 s" in outcome.failure.message + outcome.failure.detail + outcome.failure.private


def test_a_reply_ahead_of_its_command_is_refused(stage: Stage) -> None:
    def early(puppet: Puppet, frame: Frame) -> None:
        puppet.note(frame)
        puppet.honest(frame)
        puppet.send(FrameType.PREDICTIONS, struct.pack("<Q", 7) + bytes(48))  # before the query came

    failure = stage.serve({FrameType.SUPPORT: early}).failure
    assert failure is not None and failure.verdict is Verdict.PROTOCOL_ERROR
    assert "ahead of its time" in failure.private and "ahead" not in failure.message


def test_a_replayed_turn_is_refused(stage: Stage) -> None:
    first: list[Frame] = []

    def replay(puppet: Puppet, frame: Frame) -> None:
        puppet.note(frame)
        first.append(frame)
        puppet.reply(FrameType.FITTED, first[0])

    assert stage.serve({FrameType.SUPPORT: replay}).verdict is Verdict.PROTOCOL_ERROR


@pytest.mark.parametrize(
    "body",
    [
        b"",
        bytes(40),
        bytes(56),
        np.full(6, 2, "<i8").tobytes(),
        np.full(6, -1, "<i8").tobytes(),
        b"\x93NUMPY" + bytes(42),
    ],
    ids=["none", "short", "long", "label too high", "label below zero", "npy header"],
)
def test_predictions_of_a_wrong_length_or_range(stage: Stage, body: bytes) -> None:
    outcome = stage.serve(
        {FrameType.QUERY: lambda puppet, frame: puppet.reply(FrameType.PREDICTIONS, frame, body)}
    )
    assert outcome.verdict is Verdict.PROTOCOL_ERROR and outcome.results == ()


LABELS = np.array([0, 1] * 3)
SHARES = np.array([[0.75, 0.25], [0.25, 0.75]] * 3, "<f4")
NO_SHARES = {
    "cut off": (SHARES.tobytes()[:-1], "of another size"),
    "too long": (SHARES.tobytes() + bytes(8), "of another size"),
    "four megabytes": (bytes(1 << 22), "of another size"),
    "no number": (np.full_like(SHARES, np.nan).tobytes(), "no finite number"),
    "infinite": (np.full_like(SHARES, np.inf).tobytes(), "no finite number"),
    "negative": (np.array([[1.5, -0.5], [-0.5, 1.5]] * 3, "<f4").tobytes(), "negative"),
    "sum of 2": ((2 * SHARES).tobytes(), "do not sum to 1"),
    "of other labels": (SHARES[:, ::-1].tobytes(), "not the likeliest"),
}


def say(body: bytes) -> dict[FrameType, Act]:
    """What answers each query with the right labels and `body` behind them."""
    whole = LABELS.astype("<i8").tobytes() + body
    return {FrameType.QUERY: lambda puppet, frame: puppet.reply(FrameType.PREDICTIONS, frame, whole)}


@pytest.mark.parametrize(("body", "why"), NO_SHARES.values(), ids=NO_SHARES)
def test_nonsense_for_probabilities_fails_no_run_and_is_not_believed(
    stage: Stage, job: TaskServerJob, body: bytes, why: str
) -> None:
    outcome = stage.serve(say(body), job=replace(job, probabilities=True))
    assert outcome.verdict is Verdict.OK and len(outcome.results) == 3
    for result in outcome.results:
        assert (result.predictions == LABELS).all() and result.probabilities is None and why in result.doubt


def test_probabilities_come_in_the_order_of_the_labels(stage: Stage, job: TaskServerJob) -> None:
    """The query is shown in a secret order; rows are put back with their labels. Without any, there is no doubt."""
    rising = np.column_stack([np.linspace(0.9, 0.6, 6), np.linspace(0.1, 0.4, 6)]).astype("<f4")
    whole = np.zeros(6, "<i8").tobytes() + rising.tobytes()
    act: dict[FrameType, Act] = {
        FrameType.QUERY: lambda puppet, frame: puppet.reply(FrameType.PREDICTIONS, frame, whole)
    }
    asked = replace(job, probabilities=True, query_secret=b"secret")
    for result in stage.serve(act, job=asked).results:
        order = query_order(b"secret", result.index, 6)
        assert result.probabilities is not None and (result.probabilities[order] == rising).all()
    for result in stage.serve({}, job=asked).results:
        assert result.probabilities is None and result.doubt == ""


def test_probabilities_that_nobody_asked_for_end_the_run(stage: Stage) -> None:
    assert stage.serve(say(SHARES.tobytes())).verdict is Verdict.PROTOCOL_ERROR


def test_more_probabilities_than_a_run_may_have_are_not_kept(stage: Stage, job: TaskServerJob) -> None:
    few = replace(job, probabilities=True, caps=OutputCaps(probability_bytes=100))
    kept = [
        result.probabilities is not None for result in stage.serve(say(SHARES.tobytes()), job=few).results
    ]
    assert kept == [True, True, False]


GARBAGE = {
    "zeros": bytes(64),
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "command of ours": HEADER.pack(FrameType.SUPPORT, 0),
    "unknown type": HEADER.pack(200, 0),
    "four gigabytes": HEADER.pack(FrameType.PREDICTIONS, 0xFFFFFFFF),
    "long log": HEADER.pack(FrameType.LOG, 1 << 20),
    "log of no stream": HEADER.pack(FrameType.LOG, 2) + b"\x09x",
    "short logger row": HEADER.pack(FrameType.LOGGER, 3) + b"abc",
    "reply without turn": HEADER.pack(FrameType.FITTED, 2) + b"ab",
    "error that is no JSON": HEADER.pack(FrameType.ERROR, 3) + b"{{{",
    "error nested deeply": HEADER.pack(FrameType.ERROR, 60_000) + b"[" * 60_000,
    "error of wrong types": HEADER.pack(FrameType.ERROR, 12) + b'{"kind": [] ',
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
@pytest.mark.parametrize("step", [FrameType.TRAIN, FrameType.SUPPORT], ids=lambda kind: kind.name)
def test_garbage_is_a_protocol_error(stage: Stage, step: FrameType, garbage: bytes) -> None:
    outcome = stage.serve({step: lambda puppet, frame: puppet.stream.sendall(garbage)})
    assert outcome.verdict is Verdict.PROTOCOL_ERROR


def test_announced_gigabytes_cost_no_memory(stage: Stage) -> None:
    def announce(puppet: Puppet, frame: Frame) -> None:
        puppet.stream.sendall(HEADER.pack(FrameType.ERROR, 0xFFFFFFF0) + bytes(1 << 20))

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert stage.serve({FrameType.TRAIN: announce}).verdict is Verdict.PROTOCOL_ERROR
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10  # KiB


def test_half_a_frame_then_silence_is_a_time_limit(stage: Stage, job: TaskServerJob) -> None:
    def half(puppet: Puppet, frame: Frame) -> None:
        puppet.stream.sendall(HEADER.pack(FrameType.FITTED, 8) + b"abc")

    short = replace(job, budget=Budget(run_seconds=0.5))
    assert stage.serve({FrameType.SUPPORT: half}, job=short).verdict is Verdict.TIME_LIMIT


def test_silence_is_a_time_limit(stage: Stage, job: TaskServerJob) -> None:
    short = replace(job, budget=Budget(run_seconds=60, meta_train_seconds=0.5))
    outcome = stage.serve({FrameType.TRAIN: lambda puppet, frame: None}, job=short)
    assert outcome.verdict is Verdict.TIME_LIMIT
    assert outcome.time.participant["meta_fit"] >= 0.5


def test_a_runner_that_stops_reading_pays_for_it(stage: Stage, job: TaskServerJob) -> None:
    class Large(SmallTasks):
        def draw(self, index: int) -> DrawnTask:
            task = super().draw(index)
            return replace(
                task, support=np.zeros((400, 3, 128, 128), np.uint8), support_labels=np.arange(400) % 2
            )

    def deaf(puppet: Puppet, frame: Frame) -> None:
        puppet.honest(frame)
        reads_again.wait()

    reads_again = threading.Event()
    short = replace(job, tasks=Large(), budget=Budget(run_seconds=0.5))
    outcome = stage.serve({FrameType.LOAD: deaf}, job=short)
    assert outcome.verdict is Verdict.TIME_LIMIT
    reads_again.set()


@pytest.mark.parametrize("step", PARTICIPANTS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        (Death(exit_code=0), Verdict.RUNTIME_ERROR),
        (Death(exit_code=139), Verdict.RUNTIME_ERROR),
        (Death(exit_code=137), Verdict.KILLED),
        (Death(signal=9), Verdict.KILLED),
        (Death(exit_code=137, out_of_memory=True), Verdict.MEMORY_LIMIT),
        (Death(exit_code=0, out_of_memory=True), Verdict.MEMORY_LIMIT),
        (Death(lost=True), Verdict.DOCKER_ERROR),
    ],
    ids=["exit 0", "segfault", "137", "signal 9", "oom", "oom with 0", "lost"],
)
def test_an_end_is_never_a_score(stage: Stage, step: FrameType, end: Death, verdict: Verdict) -> None:
    outcome = stage.serve({step: lambda puppet, frame: puppet.stream.shutdown(2)}, end)
    assert outcome.verdict is verdict and outcome.results == ()


@pytest.mark.parametrize("step", [FrameType.READY, FrameType.UNPACK], ids=lambda kind: kind.name)
def test_an_end_before_their_code_is_ours(stage: Stage, step: FrameType) -> None:
    outcome = stage.serve({step: lambda puppet, frame: puppet.stream.shutdown(2)}, Death(exit_code=1))
    assert outcome.verdict is Verdict.SANDBOX_START


@pytest.mark.parametrize(
    ("device", "said", "verdict"),
    [
        ("cuda", {"gpus": "0"}, Verdict.GPU_UNHEALTHY),
        ("cuda", {"gpus": "1"}, Verdict.OK),
        ("cuda", {}, Verdict.OK),  # of an image made before runners counted them
        ("cpu", {"gpus": "0"}, Verdict.OK),
    ],
)
def test_a_run_with_a_gpu_does_not_go_on_without(
    stage: Stage, job: TaskServerJob, device: str, said: dict[str, str], verdict: Verdict
) -> None:
    """Its code would find none and use up the participant's time on the processor."""
    ready = json.dumps({"version": "1"} | said).encode()
    outcome = stage.serve(
        {FrameType.READY: lambda puppet, _: puppet.send(FrameType.READY, ready)},
        job=replace(job, device=device),
    )
    assert outcome.verdict is verdict
    assert outcome.runner == {"version": "1"}, "what a run's files say of it stays as it was"
    if outcome.failure is not None:
        assert verdict.cause is Cause.INFRASTRUCTURE and "found none" in outcome.failure.message


def test_a_flood_of_replies_does_not_fill_the_memory(stage: Stage) -> None:
    def flood(puppet: Puppet, frame: Frame) -> None:
        for _ in range(3_000):
            puppet.send(FrameType.PREDICTIONS, bytes(100_000))

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert stage.serve({FrameType.SUPPORT: flood}).verdict is Verdict.PROTOCOL_ERROR
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10


def test_a_learner_beyond_its_limit_is_stopped(stage: Stage, job: TaskServerJob, tmp_path: Path) -> None:
    def flood(puppet: Puppet, frame: Frame) -> None:
        while True:
            puppet.send(FrameType.LEARNER, bytes(1 << 20))

    small = replace(job, keep_learner=tmp_path / "learner", caps=OutputCaps(learner_bytes=5 << 20))
    assert stage.serve({FrameType.EXPORT: flood}, job=small).verdict is Verdict.OUTPUT_LIMIT
    assert (tmp_path / "learner").stat().st_size < 8 << 20


def test_a_claimed_platform_fault_is_the_participants(stage: Stage) -> None:
    """Once their code has run, no report makes a failure the platform's."""
    for kind in ErrorKind:
        report = ErrorReport(kind, "DockerError", "the daemon is gone")
        outcome = stage.serve(
            {FrameType.TRAIN: lambda puppet, frame, r=report: puppet.send(FrameType.ERROR, r.to_bytes())}
        )
        assert outcome.verdict.cause is Cause.PARTICIPANT


@pytest.mark.parametrize(
    ("line", "place"), [(1, "model.py, line 1"), (2, ""), (0, ""), (9_999_999, "")], ids=str
)
def test_what_a_forged_report_says_of_a_hidden_task_is_not_shown(stage: Stage, line: int, place: str) -> None:
    """Of the exception a name that everybody knows, of the place a line that the zip has."""
    forged = ErrorReport(
        ErrorKind.EXCEPTION,
        "Pixels_12_99_31",
        "pixels 12 99 31",
        "pixels 12 99 31",
        (
            CodeLine("model.py", 1, "f", True),
            CodeLine("pixels_12_99_31.py", 1, "f", False),
            CodeLine("model.py", line, "pixels", True),
        ),
    )
    failure = _reporting(stage, forged)
    where = f" ({place})" if place else ""
    assert (failure.message, failure.detail) == (f"An exception of your own in fit{where}.", place)
    elsewhere = replace(forged, exception="KeyError", lines=(CodeLine("pixels_12_99_31.py", 1, "f", True),))
    assert _reporting(stage, elsewhere).message == "KeyError in fit."


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("an array of shape [6, 12345]; expected [77, 88]", "an array of a wrong shape; expected [6, 2] ("),
        (
            "an array of shape [6, 3, 1]; expected [77, 88]",
            "an array of shape [6, 3, 1]; expected [6, 2] (",
        ),
        ("123456789 NaN, the first at [3, 4].", "NaN; expected [6, 2] ("),
        ("values of type S12345678; wanted are numbers.", "something that cannot be scored."),
    ],
)
def test_what_a_forged_prediction_says_is_cut_to_its_few_letters(stage: Stage, said: str, shown: str) -> None:
    places = (CodeLine("model.py", 1, "f", True),)
    failure = _reporting(
        stage, ErrorReport(ErrorKind.BAD_PREDICTION, "x", f"predict returned {said}", lines=places)
    )
    assert failure.message.startswith(f"predict returned {shown}") and failure.detail == ""


def _reporting(stage: Stage, report: ErrorReport) -> Failure:
    failure = stage.serve(
        {FrameType.SUPPORT: lambda puppet, frame: puppet.send(FrameType.ERROR, report.to_bytes())}
    ).failure
    assert failure is not None
    return failure


def test_a_slow_task_source_freezes_the_runner(stage: Stage, job: TaskServerJob) -> None:
    outcome = stage.serve({}, job=replace(job, tasks=SmallTasks(seconds=0.5)))
    assert outcome.failure is None
    pair = ["freeze", "thaw"]  # one at least: while the runner is slow, a task may be drawn in time
    assert stage.channels[0].frozen in (pair, pair * 2)
    assert outcome.time.platform["draw"] > 0.2


def test_no_label_and_no_test_seed_crosses(stage: Stage, job: TaskServerJob) -> None:
    """The query frame holds the turn, the clock, a shape and pixels, nothing else."""
    seen: list[Frame] = []

    def look(puppet: Puppet, frame: Frame) -> None:
        seen.append(frame)
        puppet.honest(frame)

    assert stage.serve({FrameType.QUERY: look}).failure is None
    assert {len(frame.payload) for frame in seen} == {32 + 12 + 6 * 3 * 8 * 8}
    assert all(frame.payload[44:] == b"\1" * (6 * 3 * 8 * 8) for frame in seen)


def test_a_fault_of_ours_is_called_ours(stage: Stage, job: TaskServerJob) -> None:
    class Broken(SmallTasks):
        def draw(self, index: int) -> DrawnTask:
            raise RuntimeError("disk on fire")

    outcome = stage.serve({}, job=replace(job, tasks=Broken()))
    assert outcome.verdict is Verdict.TASK_SERVER_BUG
    assert outcome.failure is not None and "disk on fire" in outcome.failure.private
    assert "disk on fire" not in outcome.failure.message + outcome.failure.detail


def test_a_log_that_cannot_be_written_is_ours_and_ends_the_run(job: TaskServerJob) -> None:
    """The reader ended without a word, and the participant's budget went on to its end."""

    def full(line: LogLine) -> None:
        raise OSError(28, "No space left on device")

    def print_and_go_on(puppet: Puppet, frame: Frame) -> None:
        puppet.send(FrameType.LOG, b"\x01a line\n")  # no answer: it trains for as long as it may

    channel = PuppetChannel({FrameType.TRAIN: print_and_go_on})
    short = replace(job, budget=Budget(run_seconds=5))
    outcome = serve(channel, short, Hooks(on_log=full))
    channel.close()
    assert outcome.verdict is Verdict.TASK_SERVER_BUG
    assert outcome.failure is not None and "No space left on device" in outcome.failure.private


def test_a_bundle_beyond_the_scratch_space_is_the_participants(stage: Stage) -> None:
    report = ErrorReport(ErrorKind.OUT_OF_SPACE, "OSError", "No space left on device")
    outcome = stage.serve(
        {FrameType.UNPACK: lambda puppet, frame: puppet.send(FrameType.ERROR, report.to_bytes())}
    )
    assert outcome.verdict is Verdict.OUTPUT_LIMIT


def test_a_fault_while_unpacking_is_ours(stage: Stage) -> None:
    report = ErrorReport(ErrorKind.EXCEPTION, "BadPack", "truncated")
    outcome = stage.serve(
        {FrameType.UNPACK: lambda puppet, frame: puppet.send(FrameType.ERROR, report.to_bytes())}
    )
    assert outcome.verdict is Verdict.TASK_SERVER_BUG
    assert outcome.failure is not None and "truncated" not in outcome.failure.message + outcome.failure.detail

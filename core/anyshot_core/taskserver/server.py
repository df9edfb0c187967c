"""The task server: carries a job out over one channel, or over one channel a task."""

import json
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotReady
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from anyshot_core.bundle.zipsafety import ZipRefused
from anyshot_core.data.problems import DataError
from anyshot_core.taskserver import failures
from anyshot_core.taskserver.channel import Channel
from anyshot_core.taskserver.conversation import Conversation
from anyshot_core.taskserver.failures import Ended
from anyshot_core.taskserver.inbox import Output
from anyshot_core.taskserver.inputs import SharedPixels
from anyshot_core.taskserver.job import (
    DrawnTask,
    Failure,
    Hooks,
    JobOutcome,
    Resumed,
    ServerProgress,
    Snapshot,
    TaskResult,
    TaskServerJob,
)
from anyshot_core.taskserver.ledger import Clock, Ledger, Limit
from anyshot_core.taskserver.sources import Sources
from anyshot_core.taskserver.tasks import JoinedTasks, query_order, task_seed
from anyshot_core.wire import messages
from anyshot_core.wire.frames import FrameError, FrameType
from anyshot_core.wire.messages import INLINE, SHARED, ImagesHeader, TimeLeft
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import PlatformStep, Stage

_FREEZE_AFTER = 0.1  # seconds between frames that a runner may go on computing at nobody's expense
_REPORT_EVERY = 0.5


def serve(
    channel: Channel, job: TaskServerJob, hooks: Hooks | None = None, clock: Clock = time.monotonic
) -> JobOutcome:
    """Carry a job out over one channel: one process from import to the last prediction.

    Raises nothing that the runner could cause; the channel is killed at the end, not closed.
    """
    run = _Run(job, hooks or Hooks(), clock)
    return run.guarded(lambda: run.in_one_sandbox(channel))


def serve_isolated(
    open_channel: Callable[[], Channel],
    job: TaskServerJob,
    hooks: Hooks | None = None,
    clock: Clock = time.monotonic,
) -> JobOutcome:
    """Meta-train over one channel, then take a fresh one for each task; closes all of them."""
    run = _Run(job, hooks or Hooks(), clock)
    return run.guarded(lambda: run.in_fresh_sandboxes(open_channel))


def serve_features(
    channel: Channel,
    job: TaskServerJob,
    images: np.ndarray,
    hooks: Hooks | None = None,
    clock: Clock = time.monotonic,
) -> JobOutcome:
    """Ask the kept learner of `job` for its layers on `images` uint8 `[n, 3, h, w]`; none where it offers none."""
    run = _Run(job, hooks or Hooks(), clock)
    return run.guarded(lambda: run.features(channel, images))


@dataclass(frozen=True, slots=True)
class _Due:
    """A task and the order in which its query will be shown; `order` None where it is the protocol's.

    One that `begins` a part is met as if the job had only that part.
    """

    task: DrawnTask
    order: np.ndarray | None
    begins: bool


class _Run:
    """The state of one job: account, output, results."""

    def __init__(self, job: TaskServerJob, hooks: Hooks, clock: Clock) -> None:
        self._job, self._hooks = job, hooks
        resumed = job.resumed or Resumed()
        self._ledger = Ledger(job.budget, clock, resumed.seconds)
        self._output = Output(job, hooks.on_log, hooks.on_row)
        self._results = list(resumed.results)
        self._runner: dict[str, str] = {}
        self._reported = -1.0
        self._sources: Sources | None = None
        self._snapshots: tuple[Snapshot, ...] = ()
        self._layers: dict[str, np.ndarray] = {}
        self._kept_bytes = 0  # of probabilities

    def guarded(self, work: Callable[[], None]) -> JobOutcome:
        failure = None
        try:
            self._sources = Sources(self._job.bundle)
            work()
        except Ended as ended:
            failure = ended.failure
        except ZipRefused as refusal:
            failure = Failure(Verdict.BAD_ARCHIVE, str(refusal))
        except DataError as error:
            failure = Failure(Verdict.BAD_POOL, "The data of this phase is broken.", private=str(error))
        except Exception:  # noqa: BLE001 - whatever is left is ours, and must become a verdict
            trace = traceback.format_exc()
            failure = Failure(
                Verdict.TASK_SERVER_BUG, "The platform failed; this costs no quota.", private=trace
            )
        self._output.end()
        return self._outcome(failure)

    def _outcome(self, failure: Failure | None = None) -> JobOutcome:
        return JobOutcome(
            tuple(self._results),
            self._ledger.use(),
            failure,
            self._output.tables(),
            dict(self._runner),
            self._snapshots,
            self._layers,
        )

    def in_one_sandbox(self, channel: Channel) -> None:
        with self._talk(channel) as talk:
            self._prepare(talk, again=self._job.resumed is not None)
            if self._job.learner is None:
                self._train(talk)
            if self._job.keep_learner is not None:
                self._keep_learner(talk, self._job.keep_learner)
            if self._job.tasks is not None:
                self._enter(Stage.META_TESTING)
                with _pixels(channel) as shared:
                    for task in self._tasks(talk):
                        if task.begins:
                            talk.job_again(self._ledger.run_limit())
                        self._test(talk, task, shared)
            talk.farewell()

    def in_fresh_sandboxes(self, open_channel: Callable[[], Channel]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            learner = self._job.learner or self._job.keep_learner or Path(folder) / "learner"
            if self._job.learner is None:
                with _closing(open_channel) as channel, self._talk(channel) as talk:
                    self._prepare(talk, again=self._job.resumed is not None)
                    self._train(talk)
                    self._keep_learner(talk, learner)
                    talk.farewell()
            if self._job.tasks is None:
                return
            self._enter(Stage.META_TESTING)
            for task in self._tasks(None):
                with (
                    _closing(open_channel) as channel,
                    self._talk(channel) as talk,
                    _pixels(channel) as shared,
                ):
                    self._prepare(talk, learner)
                    self._test(talk, task, shared)
                    talk.farewell()

    @contextmanager
    def _talk(self, channel: Channel) -> Iterator[Conversation]:
        talk = Conversation(
            channel,
            self._job,
            self._hooks,
            self._ledger,
            self._output,
            self._sources,
            self._tick,
            self._keep_training,
        )
        try:
            with self._ledger.box():
                yield talk
        finally:
            talk.close()

    def _prepare(self, talk: Conversation, learner: Path | None = None, *, again: bool = False) -> None:
        """From READY to the imported submission; with a saved learner in place where there is one.

        What an earlier attempt imported, and paid for, is imported `again`.
        """
        learner = learner or self._job.learner
        training = None if learner is not None or self._job.resumed is None else self._job.resumed.training
        ready = talk.ready()
        said = _versions(ready.payload)
        gpus = said.pop("gpus", "")
        self._runner = self._runner or said
        if self._job.device == "cuda" and gpus == "0":
            raise failures.of_lost_gpu(talk.moment("start"))
        with self._ledger.platform(PlatformStep.PREPARE):
            packs = (*self._job.packs, *self._job.validation_packs)
            folder = talk.channel.offer_packs(packs) if learner is None else None
            talk.job_header(folder, train=learner is None)
        bundle, seconds = self._job.bundle, max(self._job.start_seconds, 300)
        talk.pieces(PlatformStep.UNPACK, FrameType.BUNDLE, bundle)
        talk.own(PlatformStep.UNPACK, FrameType.UNPACK, FrameType.UNPACKED, bundle.stat().st_size, seconds)
        if (stored := learner or training) is not None:
            talk.pieces(PlatformStep.RESTORE, FrameType.STORE, stored)
            talk.own(PlatformStep.RESTORE, FrameType.RESTORE, FrameType.RESTORED, stored.stat().st_size)
        if learner is None:
            self._enter(Stage.META_TRAINING)
        limit = self._ledger.import_again_limit() if again else self._ledger.run_limit()
        frame, seconds = talk.charged("import", FrameType.IMPORT, FrameType.IMPORTED, [limit])
        talk.saves_training = messages.read_imported(frame.payload)
        if again:
            self._ledger.spare_import(seconds, 0 if stored is None else stored.stat().st_size)

    def _train(self, talk: Conversation) -> None:
        frame, _ = talk.charged("meta_fit", FrameType.TRAIN, FrameType.TRAINED, self._training_limits())
        if (folder := self._job.keep_snapshots) is not None:
            self._keep_snapshots(talk, frame.payload, folder)

    def _keep_training(self, file: Path, running: float, tables: dict[str, bytes]) -> None:
        """A meta-learner saved itself to `file` when it had trained for `running` seconds of this attempt."""
        use, so_far = self._ledger.use(), self._outcome()
        use.participant["meta_fit"] = use.participant.get("meta_fit", 0.0) + running
        self._hooks.on_training(file, replace(so_far, time=use, logger_tables=tables))

    def _keep_learner(self, talk: Conversation, target: Path) -> None:
        talk.export(target, self._training_limits())
        self._hooks.on_learner(target, self._outcome())

    def _training_limits(self) -> list[Limit]:
        return _present(self._ledger.run_limit(), self._ledger.meta_train_limit())

    def _keep_snapshots(self, talk: Conversation, trained: bytes, folder: Path) -> None:
        try:
            losses = messages.read_trained(trained, self._job.snapshots)
        except FrameError as error:
            raise failures.of_protocol(talk.moment("meta_fit"), str(error)) from error
        folder.mkdir(parents=True, exist_ok=True)
        for number, loss in enumerate(losses):
            target = folder / f"snapshot-{number + 1:02}.bin"
            talk.export(target, self._training_limits(), number)
            self._snapshots += (Snapshot(target, loss),)

    def features(self, channel: Channel, images: np.ndarray) -> None:
        with self._talk(channel) as talk:
            self._prepare(talk)
            self._enter(Stage.META_TESTING)
            talk.charged("load", FrameType.LOAD, FrameType.LOADED, [self._ledger.run_limit()])
            with _pixels(channel) as shared:
                header = _images(images, shared)
                if shared is not None:
                    shared.show(images)
                content = talk.layers(
                    [self._ledger.run_limit()],
                    lambda turn, left: messages.pack_query(turn, left, header),
                    images if shared is None else None,
                )
            try:
                self._layers = messages.read_layers(content, len(images))
            except FrameError as error:
                raise failures.of_protocol(talk.moment("features"), str(error)) from error
            talk.farewell()

    def _tasks(self, talk: Conversation | None) -> Iterator[_Due]:
        """The tasks in turn, each drawn while the one before is worked on;
        a runner that would have to wait is frozen.
        """
        assert self._job.tasks is not None
        indices = list(self._job.tasks.indices)[len(self._results) :]
        with ThreadPoolExecutor(1, thread_name_prefix="draw") as drawer:
            coming = drawer.submit(self._draw, indices[0]) if indices else None
            for position, _ in enumerate(indices):
                assert coming is not None
                if self._hooks.stops():
                    raise Ended(Failure(Verdict.CANCELLED, "The run was cancelled."))
                with self._ledger.platform(PlatformStep.DRAW):
                    task = _wait(coming, talk)
                if position + 1 < len(indices):
                    coming = drawer.submit(self._draw, indices[position + 1])
                yield task

    def _draw(self, index: int) -> _Due:
        assert self._job.tasks is not None
        source, secret = self._job.tasks, self._job.query_secret
        task = source.draw(index)
        order = None if secret is None else query_order(secret, task.index, len(task.query))
        return _Due(task, order, isinstance(source, JoinedTasks) and source.begins_part(index))

    def _test(self, talk: Conversation, due: _Due, shared: SharedPixels | None) -> None:
        task, order = due.task, due.order
        talk.set_task(task)
        run = self._ledger.run_limit
        seed = messages.pack_load(task_seed(self._job.train_seed, task.index) if task.seeded else None)
        _, loaded = talk.charged("load", FrameType.LOAD, FrameType.LOADED, [run()], seed)
        fit = self._fit(talk, task, shared)
        limits = _present(run(), self._ledger.task_limit(fit))
        payload, predict = self._predict(talk, due, shared, limits)
        predictions = self._labels(talk, due, payload)
        probabilities, doubt = self._probabilities(payload, predictions, task.ways)
        self._results.append(
            TaskResult(
                task.index,
                task.dataset,
                task.ways,
                task.shots,
                _in_order(predictions, order),
                task.query_labels,
                loaded,
                fit,
                predict,
                None if probabilities is None else _in_order(probabilities, order),
                doubt,
            )
        )
        talk.set_task(None)
        self._hooks.on_answer(self._results[-1], self._ledger.use())
        self._report()

    def _fit(self, talk: Conversation, task: DrawnTask, shared: SharedPixels | None) -> float:
        images = _images(task.support, shared, task.ways, task.shots)
        with self._ledger.platform(PlatformStep.TRANSPORT, task.support.nbytes):
            if shared is not None:
                shared.show(task.support)

        def build(turn: int, left: TimeLeft) -> bytes:
            return messages.pack_support(turn, left, images, task.support_labels)

        limits = _present(self._ledger.run_limit(), self._ledger.task_limit(0.0))
        inline = task.support if shared is None else None
        return talk.charged("fit", FrameType.SUPPORT, FrameType.FITTED, limits, build, inline)[1]

    def _predict(
        self,
        talk: Conversation,
        due: _Due,
        shared: SharedPixels | None,
        limits: list[Limit],
    ) -> tuple[bytes, float]:
        query, inline = due.task.query, None
        images = _images(query, shared)
        with self._ledger.platform(PlatformStep.TRANSPORT, query.nbytes):
            if shared is not None:
                shared.show(query, due.order)
            else:
                inline = query if due.order is None else query[due.order]

        def build(turn: int, left: TimeLeft) -> bytes:
            return messages.pack_query(turn, left, images)

        frame, seconds = talk.charged(
            "predict", FrameType.QUERY, FrameType.PREDICTIONS, limits, build, inline
        )
        return frame.payload, seconds

    def _labels(self, talk: Conversation, due: _Due, payload: bytes) -> np.ndarray:
        count, more = len(due.task.query), self._job.probabilities
        try:
            return messages.read_predictions(payload, count, due.task.ways, more=more)
        except FrameError as error:
            raise failures.of_protocol(talk.moment("predict"), str(error)) from error

    def _probabilities(
        self, payload: bytes, predictions: np.ndarray, ways: int
    ) -> tuple[np.ndarray | None, str]:
        """What came with the predictions, or why it is not believed: labels are an answer without it."""
        if not self._job.probabilities:
            return None, ""
        try:
            found = messages.read_probabilities(payload, predictions, ways)
        except FrameError as error:
            return None, str(error)
        self._kept_bytes += 0 if found is None else found.nbytes
        if self._kept_bytes > self._job.caps.probability_bytes:
            return None, f"more than {self._job.caps.probability_bytes >> 20} MiB of probabilities in a run"
        return found, ""

    def _enter(self, stage: Stage) -> None:
        self._output.stage = stage
        self._report()

    def _tick(self, running: float) -> None:
        """Called while a reply is awaited."""
        now = self._ledger.clock()
        if now - self._reported >= _REPORT_EVERY:
            self._report(running)

    def _report(self, running: float = 0.0) -> None:
        self._reported = self._ledger.clock()
        total = 0 if self._job.tasks is None else len(self._job.tasks.indices)
        used = self._ledger.used + running
        self._hooks.on_progress(ServerProgress(self._output.stage, len(self._results), total, used))


@contextmanager
def _closing(open_channel: Callable[[], Channel]) -> Iterator[Channel]:
    channel = open_channel()
    try:
        yield channel
    finally:
        channel.close()


@contextmanager
def _pixels(channel: Channel) -> Iterator[SharedPixels | None]:
    if channel.pixels is None:
        yield None
        return
    with SharedPixels(channel.pixels.host) as shared:
        try:
            yield shared
        finally:
            shared.wipe()


def _in_order(shown: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    """Rows for the query as it was shown, in the protocol's order."""
    if order is None:
        return shown
    found = np.empty_like(shown)
    found[order] = shown
    return found


def _wait(coming: Future[_Due], talk: Conversation | None) -> _Due:
    try:
        return coming.result(timeout=_FREEZE_AFTER)
    except NotReady:
        if talk is None or coming.done():
            return coming.result()
    talk.channel.freeze()
    try:
        return coming.result()
    finally:
        talk.channel.thaw()


def _images(array: np.ndarray, shared: SharedPixels | None, ways: int = 0, shots: int = 0) -> ImagesHeader:
    count, channels, height, width = array.shape
    return ImagesHeader(count, channels, height, width, INLINE if shared is None else SHARED, ways, shots)


def _present(*limits: Limit | None) -> list[Limit]:
    return [limit for limit in limits if limit is not None]


def _versions(payload: bytes) -> dict[str, str]:
    """What READY says of itself; it comes before any participant code ran."""
    data = json.loads(payload)
    return {str(key)[:40]: str(value)[:80] for key, value in data.items()}


def default_cpus() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

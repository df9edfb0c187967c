"""One runner, spoken to: commands out, the one reply that may come back, time charged to whom it belongs."""

import io
import json
import math
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np

from anyshot_core.protocols import Protocol
from anyshot_core.taskserver import failures
from anyshot_core.taskserver.channel import Channel, ChannelClosed
from anyshot_core.taskserver.checkpoint_file import CheckpointFile, TooMuch
from anyshot_core.taskserver.failures import Ended, FailureMoment
from anyshot_core.taskserver.inbox import Arrived, Inbox, Output, StreamEnd
from anyshot_core.taskserver.job import DrawnTask, Hooks, TaskServerJob
from anyshot_core.taskserver.ledger import Ledger, Limit, time_left
from anyshot_core.taskserver.sources import Sources
from anyshot_core.wire import messages
from anyshot_core.wire.frames import CHUNK, Frame, FrameError, FrameType, header
from anyshot_core.wire.messages import TimeLeft
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import PlatformStep, Stage

_POLL = 0.2
_FAREWELL = 1.0  # seconds that the last command, and the answer to it, may take


class Conversation:
    """The trusted end of one channel. Methods raise `Ended` when the run is over."""

    def __init__(
        self,
        channel: Channel,
        job: TaskServerJob,
        hooks: Hooks,
        ledger: Ledger,
        output: Output,
        sources: Sources | None,
        tick: Callable[[float], None],
        keep_training: Callable[[Path, float, dict[str, bytes]], None],
    ) -> None:
        """`sources` are the bundle's; `tick` gets the seconds that the step in progress has taken so far.

        `keep_training` gets a checkpoint of it, with those seconds and the logger's tables.
        """
        self.channel, self.job, self.ledger, self.output = channel, job, ledger, output
        self._hooks, self._sources, self._tick = hooks, sources, tick
        self._task: DrawnTask | None = None
        self._trains = False  # whether meta_fit has asked for a task or batch
        self.saves_training = False  # whether its meta-learner can
        self._keep_training = keep_training
        self._checkpoints = CheckpointFile(
            job.keep_training, job.caps.learner_bytes, job.checkpoint_seconds, ledger.clock()
        )
        self._asked_to_save = False
        self._inbox = Inbox(channel, output, ledger.clock)

    def close(self) -> None:
        """Kill the sandbox and stop reading."""
        self.channel.kill()
        self._inbox.close()
        self._checkpoints.close()
        self.output.flush()

    def moment(self, step: str) -> FailureMoment:
        stage = self.output.stage
        untrained = stage is Stage.META_TRAINING and not self._trains
        return FailureMoment(step, stage, self.job.log_policy, self._task, self._sources, untrained)

    def set_task(self, task: DrawnTask | None) -> None:
        self._task = task

    def own(
        self, step: PlatformStep, kind: FrameType, reply: FrameType, size: int, seconds: float = 0
    ) -> None:
        """A command whose time is the platform's, before participants' code runs; `size` bytes are worked on."""
        limit = Limit("platform", seconds or self.job.start_seconds, seconds or self.job.start_seconds)
        start = self.ledger.clock()
        with self.ledger.platform(step, size):
            turn, _ = self._command(step, kind, [], None, limit.left)
            self._expect(step, reply, turn, [limit], start)

    def ready(self) -> Frame:
        """Wait for READY."""
        limit = Limit("platform", self.job.start_seconds, self.job.start_seconds)
        with self.ledger.platform(PlatformStep.START):
            return self._expect("start", FrameType.READY, None, [limit], self.ledger.clock()).frame

    def charged(
        self,
        step: str,
        kind: FrameType,
        reply: FrameType,
        limits: list[Limit],
        build: Callable[[int, TimeLeft], bytes] | bytes | None = None,
        pixels: np.ndarray | None = None,
    ) -> tuple[Frame, float]:
        """A command whose time is the participant's, but for its transport; returns it with the reply."""
        start = self.ledger.clock()
        try:
            turn, size = self._command(step, kind, limits, build, _least(limits), pixels)
            # a runner that will not read pays for it
            start += self.ledger.spare(PlatformStep.TRANSPORT, self.ledger.clock() - start, size)
            arrived = self._expect(step, reply, turn, limits, start)
        except Ended:
            self.ledger.charge(step, self.ledger.clock() - start)
            raise
        seconds = max(0.0, arrived.at - start)  # a quick reply may be here before its sender goes on
        self.ledger.charge(step, seconds)
        return arrived.frame, seconds

    def pieces(self, step: PlatformStep, kind: FrameType, path: Path) -> None:
        """Send a file in frames, before participants' code runs."""
        with path.open("rb") as source, self.ledger.platform(step, path.stat().st_size):
            while piece := source.read(CHUNK):
                self._send(step, kind, [piece], self.job.start_seconds)

    def job_header(self, packs_folder: str | None, *, train: bool) -> None:
        """JOB: everything the runner has to know, and no more."""
        self._send("start", FrameType.JOB, [self._header(packs_folder, train=train)], self.job.start_seconds)

    def job_again(self, limit: Limit) -> None:
        """JOB before another part of it, whose random numbers start again; participants' code has run by now."""
        header_, start = self._header(None, train=False), self.ledger.clock()
        try:
            self._send("load", FrameType.JOB, [header_], limit.left, [limit])
        finally:
            seconds = self.ledger.clock() - start
            self.ledger.charge(
                "load", seconds - self.ledger.spare(PlatformStep.TRANSPORT, seconds, len(header_))
            )

    def _header(self, packs_folder: str | None, *, train: bool) -> bytes:
        pixels = self.channel.pixels
        return messages.JobHeader(
            version=1,
            train=train,
            train_seed=self.job.train_seed,
            packs_folder=packs_folder,
            packs=len(self.job.packs),
            pixels=None if pixels is None else pixels.inside,
            pixels_mapped=pixels is not None and pixels.mapped,
            hide_dataset_names=self.job.hide_dataset_names,
            cpus=self.job.cpus,
            device=self.job.device,
            unpacked_bytes=self.job.unpacked_bytes,
            learner_bytes=self.job.caps.learner_bytes,
            max_items=self.job.max_items,
            train_protocol=_plain(self.job.train_protocol),
            validation_protocol=_plain(self.job.validation_protocol),
            validation_packs=len(self.job.validation_packs),
            snapshots=self.job.snapshots if self.job.keep_snapshots is not None else 0,
            probabilities=self.job.probabilities,
            learner_optional=self.job.learner_optional,
            checkpoints=self._mode(),
            checkpoint_seconds=self.job.checkpoint_seconds,
        ).to_bytes()

    def _mode(self) -> messages.CheckpointMode:
        if self.job.keep_training is not None:
            return messages.CheckpointMode.KEEP
        return messages.CheckpointMode.TRY if self.job.try_checkpoint else messages.CheckpointMode.NONE

    def export(self, target: Path, limits: list[Limit], snapshot: int | None = None) -> None:
        """EXPORT: store the pieces of the learner, or of a snapshot, in `target`, never looking into them.

        Code that has trained sends them: what takes longer than their size explains is training.
        """
        start, command, step = self.ledger.clock(), messages.pack_export(snapshot), PlatformStep.LEARNER
        turn, _ = self._command(step, FrameType.EXPORT, limits, command, _least(limits))
        with target.open("wb") as file:
            waited = 0.0
            try:
                waited = self._collect(step, limits, start, turn, file, self.job.caps.learner_bytes)
            except Ended:
                waited = self.ledger.clock() - start
                raise
            finally:
                seconds, size = self.ledger.clock() - start, file.tell()
                self.ledger.charge("meta_fit", waited - self.ledger.spare(step, waited, size))
                self.ledger.add_platform(step, max(0.0, seconds - waited), size)

    def layers(
        self,
        limits: list[Limit],
        build: Callable[[int, TimeLeft], bytes],
        pixels: np.ndarray | None,
    ) -> bytes:
        """FEATURES: what the learner says of some images, in the participant's time."""
        start, found = self.ledger.clock(), io.BytesIO()
        try:
            turn, _ = self._command("features", FrameType.FEATURES, limits, build, _least(limits), pixels)
            self._collect("features", limits, start, turn, found, self.job.caps.layer_bytes)
        finally:
            self.ledger.charge("features", self.ledger.clock() - start)
        return found.getvalue()

    def _collect(
        self,
        step: str,
        limits: list[Limit],
        start: float,
        turn: int,
        target: BinaryIO,
        most: int,
    ) -> float:
        """Write what comes in pieces to `target`, until the reply that ends it.

        Returns the seconds that were waited, and not written: the limits hold for these, but for what is spared.
        """
        total, waited = 0, 0.0
        while True:
            spared = self.ledger.allowance(step, total) if isinstance(step, PlatformStep) else 0.0
            arrived = self._arrive(step, limits, start - waited + spared)
            waited += self.ledger.clock() - start
            if arrived.frame.kind is not FrameType.LEARNER:
                self._check(step, arrived.frame, FrameType.EXPORTED, turn)
                return waited
            total += target.write(arrived.frame.payload)
            if total > most:
                what = "a saved learner" if step == "learner" else "features"
                raise failures.of_output(self.moment(step), f"{what} beyond the limit of {most >> 20} MiB")
            start = self.ledger.clock()

    def farewell(self) -> None:
        """FINISH: a last frame may come, nothing else; a runner that says nothing any more does no harm."""
        with self.ledger.platform(PlatformStep.FINISH):
            try:
                turn, _ = self._command("finish", FrameType.FINISH, [], None, _FAREWELL)
            except Ended:
                return
            item = self._inbox.next(_FAREWELL)
        if isinstance(item, Arrived):
            self._check("finish", item.frame, FrameType.FINISHED, turn)
        elif isinstance(item, StreamEnd) and item.reason != "end":
            raise self._stopped("finish", item)

    def _command(
        self,
        step: str,
        kind: FrameType,
        limits: list[Limit],
        build: Callable[[int, TimeLeft], bytes] | bytes | None,
        timeout: float,
        pixels: np.ndarray | None = None,
    ) -> tuple[int, int]:
        """Send a command; its turn, and its bytes."""
        turn = secrets.randbits(64)
        left = time_left(limits)
        payload = build(turn, left) if callable(build) else messages.pack_command(turn, left) + (build or b"")
        parts: list[bytes | memoryview] = [payload]
        if pixels is not None:
            parts.append(np.ascontiguousarray(pixels).reshape(-1).data)
        return turn, self._send(step, kind, parts, timeout, limits)

    def _send(
        self,
        step: str,
        kind: FrameType,
        parts: list[bytes] | list[bytes | memoryview],
        timeout: float,
        limits: list[Limit] | None = None,
    ) -> int:
        length = sum(len(part) for part in parts)
        try:
            if length < CHUNK:
                self.channel.send(header(kind, length) + b"".join(parts), max(timeout, 0.05))
                return length
            self.channel.send(header(kind, length), max(timeout, 0.05))
            for part in parts:
                self.channel.send(part, max(timeout, 0.05))
            return length
        except TimeoutError:
            if limits:
                raise failures.of_limit(
                    self.moment(step), min(limits, key=lambda limit: limit.left)
                ) from None
            raise failures.of_protocol(self.moment(step), "it stopped reading") from None
        except ChannelClosed:
            self._explain_closed(step)

    def _explain_closed(self, step: str) -> NoReturn:
        """The runner does not read any more; what it sent last may say why."""
        for _ in range(16):
            item = self._inbox.next(2.0)
            if isinstance(item, Arrived) and item.frame.kind is FrameType.ERROR:
                raise self._reported(step, item.frame)
            if isinstance(item, StreamEnd):
                raise self._stopped(step, item)
        raise failures.of_death(self.moment(step), self.channel.death(), "the stream is closed")

    def _expect(
        self, step: str, reply: FrameType, turn: int | None, limits: list[Limit], start: float
    ) -> Arrived:
        arrived = self._arrive(step, limits, start)
        self._check(step, arrived.frame, reply, turn)
        return arrived

    def _arrive(self, step: str, limits: list[Limit], start: float) -> Arrived:
        """Wait within the limits for anything but output. Raises Ended for errors, ends, cancellations, time."""
        tightest = min(limits, key=lambda limit: limit.left)
        end = start + tightest.left
        while True:
            now = self.ledger.clock()
            if self._hooks.cancelled():
                raise self._cancelled(step)
            if step == "meta_fit" and self._hooks.stops():
                self._ask_to_save()
            item = self._inbox.next(min(_POLL, end - now) if math.isfinite(end) else _POLL)
            if item is None:
                if self.ledger.clock() >= end:
                    raise self._too_late(step, tightest)
                self._tick(max(0.0, self.ledger.clock() - start))
                continue
            if item.at > end:
                raise self._too_late(step, tightest)
            if isinstance(item, StreamEnd):
                raise self._stopped(step, item)
            if item.frame.kind is FrameType.ERROR:
                raise self._reported(step, item.frame)
            if item.frame.kind is FrameType.CHECKPOINT and step == "meta_fit":
                self._take_checkpoint(item, start)
            elif item.frame.kind is FrameType.STEP:
                self._trains = True
            else:
                return item

    def _ask_to_save(self) -> None:
        """A worker that stops waits for a last checkpoint, where the code can save its training."""
        if not self.saves_training or self.job.keep_training is None:
            raise self._cancelled("meta_fit")
        if not self._asked_to_save:
            self._asked_to_save = True
            self._checkpoints.expect()
            self._send("meta_fit", FrameType.SAVE, [b""], _FAREWELL)

    def _take_checkpoint(self, arrived: Arrived, start: float) -> None:
        try:
            file = self._checkpoints.take(arrived.frame.payload, arrived.at)
        except TooMuch as problem:
            raise failures.of_output(self.moment("meta_fit"), str(problem)) from problem
        if file is None:
            return
        self._keep_training(file, max(0.0, arrived.at - start), arrived.tables or {})
        if self._asked_to_save:
            raise self._cancelled("meta_fit")

    def _cancelled(self, step: str) -> Ended:
        return self.moment(step).fail(Verdict.CANCELLED, "The run was cancelled.")

    def _too_late(self, step: str, limit: Limit) -> Ended:
        if limit.name != "platform":
            return failures.of_limit(self.moment(step), limit)
        moment = self.moment(step)
        if step in ("start", "unpack"):
            return moment.fail(
                Verdict.SANDBOX_START, f"The sandbox did not answer for {limit.total:g} s {moment.doing}."
            )
        return failures.of_protocol(moment, f"no answer for {limit.total:g} s")

    def _check(self, step: str, frame: Frame, reply: FrameType, turn: int | None) -> None:
        if frame.kind is FrameType.ERROR:
            raise self._reported(step, frame)
        if frame.kind is not reply:
            raise failures.of_protocol(self.moment(step), f"{frame.kind.name} came instead of {reply.name}")
        if turn is None:
            return
        try:
            repeated = messages.read_turn(frame.payload)
        except FrameError as error:
            raise failures.of_protocol(self.moment(step), str(error)) from error
        if repeated != turn:
            raise failures.of_protocol(self.moment(step), f"{reply.name} came ahead of its time")

    def _stopped(self, step: str, item: StreamEnd) -> Ended:
        if item.fault is not None:
            raise item.fault
        moment = self.moment(step)
        if item.reason == "output":
            return failures.of_output(moment, item.detail)
        if item.reason == "garbage":
            return failures.of_protocol(moment, item.detail)
        return failures.of_death(moment, self.channel.death(), item.detail)

    def _reported(self, step: str, frame: Frame) -> Ended:
        try:
            report = messages.read_error(frame.payload)
        except FrameError as error:
            return failures.of_protocol(self.moment(step), str(error))
        return failures.of_report(self.moment(step), report)


def _least(limits: list[Limit]) -> float:
    """The seconds that are left of the tightest."""
    return min(limit.left for limit in limits)


def _plain(protocol: Protocol | None) -> str | None:
    """As a runner reads it, for packs that are cut to what it shows."""
    return None if protocol is None else json.dumps(protocol.on_shown().to_dict())

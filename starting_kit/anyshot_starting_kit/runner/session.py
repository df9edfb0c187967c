"""The runner's conversation: waits for a command, does it, replies; ends with the stream, FINISH or an error."""

import contextlib
import importlib
import importlib.metadata
import json
import os
import platform
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anyshot_core.wire import messages
from anyshot_core.wire.frames import CHUNK, TURN, VERSION, Frame, FrameType
from anyshot_core.wire.messages import JobHeader
from anyshot_starting_kit import budget, snapshots
from anyshot_starting_kit.runner import learnerblob, reports, scratch
from anyshot_starting_kit.runner.capture import OutputCapture
from anyshot_starting_kit.runner.stream import FrameStream, StreamEnded

_IDLE = 0.25  # seconds without a command: this runner waits in a pool


class UnexpectedCommand(Exception):
    """A command that makes no sense here: the task server and this runner disagree."""


def run() -> int:
    """Serve one job; returns the exit status."""
    stream = FrameStream.claim_standard_streams()
    place = scratch.prepare(Path(os.environ.get("ANYSHOT_SCRATCH", "/tmp/anyshot")))
    capture = OutputCapture(lambda payload: stream.send(FrameType.LOG, payload))
    versions = _warm_up()
    capture.start()
    stream.send(FrameType.READY, json.dumps(versions).encode())
    if not stream.waits(_IDLE):
        _warm_up_further()
    session = Session(stream, capture, place)
    try:
        return session.serve()
    except StreamEnded:
        return 3


def _warm_up() -> dict[str, str]:
    """Import what every submission imports, before anybody's clock runs."""
    import numpy
    import torch

    from anyshot_starting_kit.runner import evaluation, offline, unpack, vision

    vision.define_missing_operators()
    offline.explain_limits()
    del evaluation, unpack
    warnings.filterwarnings("ignore", message="Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    return {
        "version": str(VERSION),
        "kit": importlib.metadata.version("anyshot-starting-kit"),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "torch": str(torch.__version__),
        "gpus": str(torch.cuda.device_count() if torch.cuda.is_available() else 0),
    }


def _warm_up_further() -> None:
    """With nothing else to do: what torch imports when the first optimizer is made, a second's work."""
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is printed by now would count as the submission's output
        importlib.import_module("torch._dynamo")


class Session:
    """One job. Each command has a method of its name; all but the pieces of blobs are answered with their turn."""

    def __init__(self, stream: FrameStream, capture: OutputCapture, place: scratch.Scratch) -> None:
        self._stream, self._capture, self._place = stream, capture, place
        self._job: JobHeader | None = None
        self._evaluation: Any = None
        self._incoming = place.root / "incoming.learner"
        self._commands: dict[FrameType, Callable[[bytes], None]] = {
            FrameType.JOB: self._take_job,
            FrameType.BUNDLE: lambda payload: _append(place.archive, payload),
            FrameType.STORE: lambda payload: _append(self._incoming, payload),
            FrameType.UNPACK: self._unpack,
            FrameType.IMPORT: self._import,
            FrameType.TRAIN: self._train,
            FrameType.RESTORE: self._restore,
            FrameType.LOAD: self._load,
            FrameType.SUPPORT: self._fit,
            FrameType.QUERY: self._predict,
            FrameType.EXPORT: self._export,
            FrameType.FEATURES: self._features,
            FrameType.SAVE: lambda payload: None,  # training has just ended
        }

    def serve(self) -> int:
        """Until FINISH (0), or the first error (1), which is reported."""
        while True:
            frame = self._stream.receive()
            if frame.kind is FrameType.FINISH:
                self._reply(FrameType.FINISHED, frame.payload)
                return 0
            try:
                self._carry_out(frame)
            except StreamEnded:
                raise
            except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt of a submission count too
                self._report(error)
                return 1

    def _carry_out(self, frame: Frame) -> None:
        if frame.kind not in (FrameType.JOB, FrameType.BUNDLE, FrameType.STORE, FrameType.SAVE):
            _, left = messages.read_command(frame.payload)
            budget.state(left.run, left.stage, left.task)
        self._commands[frame.kind](frame.payload)

    def _reply(self, kind: FrameType, command: bytes, body: bytes = b"") -> None:
        self._capture.drain()
        self._stream.send(kind, command[: TURN.size] + body)

    def _report(self, error: BaseException) -> None:
        report = reports.describe(error, self._place.program)
        self._capture.drain()
        self._stream.send(FrameType.ERROR, report.to_bytes())

    def _take_job(self, payload: bytes) -> None:
        """The job; again, before the first task of another part of it, so that the part is met as if it were alone."""
        self._job = JobHeader.from_bytes(payload)
        if self._evaluation is not None:
            self._evaluation.start_again()

    @property
    def _header(self) -> JobHeader:
        if self._job is None:
            raise UnexpectedCommand("a command before the job")
        return self._job

    def _unpack(self, payload: bytes) -> None:
        from anyshot_starting_kit.runner.evaluation import Evaluation
        from anyshot_starting_kit.runner.unpack import unpack_bundle

        unpack_bundle(self._place.archive, self._place.program, self._header.unpacked_bytes)
        self._place.archive.unlink()
        self._evaluation = Evaluation(self._header, self._place, self._stream)
        scratch.enter(self._place)
        self._reply(FrameType.UNPACKED, payload)

    def _import(self, payload: bytes) -> None:
        self._evaluation.import_submission()
        self._reply(FrameType.IMPORTED, payload, messages.pack_imported(self._evaluation.saves_training))

    def _train(self, payload: bytes) -> None:
        from anyshot_starting_kit.runner.checkpoints import TrainingCheckpoints

        mode = messages.CheckpointMode(self._header.checkpoints)
        checkpoints = TrainingCheckpoints(
            self._place.checkpoint,
            mode,
            self._header.checkpoint_seconds,
            self._send_checkpoint,
            lambda: self._stream.takes(FrameType.SAVE),
        )
        losses = self._evaluation.train(checkpoints)
        self._reply(FrameType.TRAINED, payload, messages.pack_trained(losses))

    def _send_checkpoint(self, folder: Path) -> None:
        self._capture.drain()
        for piece in learnerblob.export(folder, self._header.learner_bytes, CHUNK, "checkpoint"):
            self._stream.send(FrameType.CHECKPOINT, piece)
        self._stream.send(FrameType.CHECKPOINT)

    def _load(self, payload: bytes) -> None:
        self._evaluation.load(messages.read_load(payload))
        self._reply(FrameType.LOADED, payload)

    def _fit(self, payload: bytes) -> None:
        self._evaluation.fit(*messages.read_support(payload))
        self._reply(FrameType.FITTED, payload)

    def _predict(self, payload: bytes) -> None:
        answer = self._evaluation.predict(*messages.read_query(payload))
        self._capture.drain()
        turn, _ = messages.read_command(payload)
        self._stream.send(FrameType.PREDICTIONS, messages.pack_predictions(turn, *answer))

    def _export(self, payload: bytes) -> None:
        snapshot = messages.read_export(payload)
        folder = self._place.model if snapshot is None else snapshots.folder_of(snapshot)
        most = self._header.learner_bytes
        if not (snapshot is None and self._header.learner_optional and learnerblob.size(folder) > most):
            for piece in learnerblob.export(folder, most, CHUNK):
                self._stream.send(FrameType.LEARNER, piece)
        self._reply(FrameType.EXPORTED, payload)

    def _features(self, payload: bytes) -> None:
        content = messages.pack_layers(self._evaluation.features(*messages.read_query(payload)))
        for start in range(0, len(content), CHUNK):
            self._stream.send(FrameType.LEARNER, content[start : start + CHUNK])
        self._reply(FrameType.EXPORTED, payload)

    def _restore(self, payload: bytes) -> None:
        self._incoming.touch()  # a learner that saved nothing comes without a piece
        with self._incoming.open("rb") as file:
            learnerblob.restore(file, self._place.checkpoint if self._header.train else self._place.model)
        self._incoming.unlink()
        self._reply(FrameType.RESTORED, payload)


def _append(path: Path, piece: bytes) -> None:
    with path.open("ab") as file:
        file.write(piece)

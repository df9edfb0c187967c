"""Payloads of the frames: how each is packed, and how what a runner sends is read with suspicion.

All numbers are little-endian. Arrays are raw and C-contiguous, of a length that both sides know. Whatever comes from
a runner is bounded by the frame's maximum before it gets here; every `read_*` raises `FrameError` on anything odd.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np

from anyshot_core.wire.frames import MAXIMUM, TURN, FrameError, FrameType

COMMAND = struct.Struct("<Qddd")
SUPPORT = struct.Struct("<IIIHHHBx")
QUERY = struct.Struct("<IHHHBx")
LOGGER_ROW = struct.Struct("<BIIiiddd")
SNAPSHOT, LENGTH, SEED = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")
LAYER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
IMAGE_ARRAYS = "image_"  # what arrays that are no layers begin with
SUM_TOLERANCE = 1e-3  # by which the sum of a distribution may differ from 1
INLINE, SHARED = 0, 1  # where the pixels of a task are: in the frame, or in the shared buffer


class CheckpointMode(StrEnum):
    """Whether a meta-learner that can save itself does so while it trains: in a trial once, and it is resumed there."""

    NONE = "none"
    KEEP = "keep"
    TRY = "try"


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Seconds that the participant has left when a command is sent; infinity where there is no limit."""

    run: float = math.inf
    stage: float = math.inf
    task: float = math.inf


@dataclass(frozen=True, slots=True)
class JobHeader:
    """What a runner has to know of a job. No seed but the training seed is ever in it."""

    version: int
    train: bool
    train_seed: int
    packs_folder: str | None
    packs: int
    pixels: str | None
    hide_dataset_names: bool
    cpus: int
    device: str
    unpacked_bytes: int
    learner_bytes: int
    max_items: int | None = None
    pixels_mapped: bool = False
    train_protocol: str | None = None  # JSON, for packs cut to what it shows; None: as config.json asks
    validation_protocol: str | None = None
    validation_packs: int = 0  # in the folder after those to train on
    snapshots: int = 0  # of training, at most
    probabilities: bool = False  # whether they follow the predicted labels
    learner_optional: bool = False  # one beyond `learner_bytes` is not exported, and nothing fails
    checkpoints: str = CheckpointMode.NONE  # of meta-training
    checkpoint_seconds: float = 0.0  # between two, at least

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, payload: bytes) -> JobHeader:
        """What a task server of a later release adds does not hurt a runner in an older image."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in json.loads(payload).items() if name in known})


@dataclass(frozen=True, slots=True)
class ImagesHeader:
    """Number and shape of the images of a set, and where their pixels are; ways and shots are 0 for a query."""

    images: int
    channels: int
    height: int
    width: int
    place: int
    ways: int = 0
    shots: int = 0

    @property
    def pixel_bytes(self) -> int:
        return self.images * self.channels * self.height * self.width

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return (self.images, self.channels, self.height, self.width)


def pack_command(turn: int, left: TimeLeft) -> bytes:
    return COMMAND.pack(turn, left.run, left.stage, left.task)


def read_command(payload: bytes) -> tuple[int, TimeLeft]:
    turn, run, stage, task = COMMAND.unpack_from(payload)
    return turn, TimeLeft(run, stage, task)


def pack_imported(saves_training: bool) -> bytes:
    """What follows the turn of IMPORTED: whether the meta-learner can save itself while it trains."""
    return bytes([saves_training])


def read_imported(payload: bytes) -> bool:
    return payload[TURN.size :] == b"\1"


def pack_load(seed: int | None) -> bytes:
    """What follows the turn of LOAD: the seed of the task's random numbers; nothing where they run on."""
    return b"" if seed is None else SEED.pack(seed)


def read_load(payload: bytes) -> int | None:
    body = payload[COMMAND.size :]
    return SEED.unpack(body)[0] if body else None


def pack_export(snapshot: int | None) -> bytes:
    """What follows the turn of EXPORT: nothing for the learner, else the number of a snapshot."""
    return b"" if snapshot is None else SNAPSHOT.pack(snapshot)


def read_export(payload: bytes) -> int | None:
    body = payload[COMMAND.size :]
    return SNAPSHOT.unpack(body)[0] if body else None


def pack_trained(losses: Sequence[float]) -> bytes:
    """What follows the turn of TRAINED: the training loss of each snapshot; nothing where there is none."""
    return np.asarray(losses, "<f8").tobytes()


def read_trained(payload: bytes, most: int) -> tuple[float, ...]:
    """The training losses of at most `most` snapshots. Raises FrameError, also for a loss that is no number."""
    body = payload[TURN.size :]
    if len(body) % 8 or len(body) // 8 > most:
        raise FrameError(f"{len(body)} bytes of snapshots, at most {most} asked for")
    losses = np.frombuffer(body, "<f8")
    if not np.isfinite(losses).all():
        raise FrameError("a snapshot whose training loss is no finite number")
    return tuple(float(loss) for loss in losses)


def pack_layers(layers: Mapping[str, np.ndarray]) -> bytes:
    """Layers `[images, ...]` in float32, behind a JSON list of their names and shapes."""
    arrays = {name: np.ascontiguousarray(values, "<f4") for name, values in layers.items()}
    head = json.dumps([[name, list(values.shape)] for name, values in arrays.items()]).encode()
    return LENGTH.pack(len(head)) + head + b"".join(values.tobytes() for values in arrays.values())


def read_layers(content: bytes, images: int) -> dict[str, np.ndarray]:
    """What a runner packed: float32 `[images, ...]` of two to four axes. Raises FrameError for anything odd."""
    try:
        (length,) = LENGTH.unpack_from(content)
        rows = _typed(json.loads(content[LENGTH.size : LENGTH.size + length]), list)
        shapes = {_layer_name(name): _layer_shape(shape, images) for name, shape in rows}
    except (ValueError, TypeError, struct.error, RecursionError) as error:
        raise FrameError(f"layers that cannot be read ({error})") from error
    found, start = dict[str, np.ndarray](), LENGTH.size + length
    if len(shapes) != len(rows) or len(content) - start != 4 * sum(map(math.prod, shapes.values())):
        raise FrameError("layers of another size than announced")
    for name, shape in shapes.items():
        values = np.frombuffer(content, "<f4", math.prod(shape), start).astype(np.float32).reshape(shape)
        if not np.isfinite(values).all():
            raise FrameError(f"layer {name} holds a value that is no finite number")
        found[name], start = values, start + values.nbytes
    return found


def _layer_name(name: Any) -> str:
    if not LAYER_NAME.fullmatch(_typed(name, str)) or name.startswith(IMAGE_ARRAYS):
        raise ValueError("a name of up to 60 letters, digits, dots, dashes, which does not begin with image_")
    return name


def _layer_shape(shape: Any, images: int) -> tuple[int, ...]:
    sizes = tuple(_typed(size, int) for size in _typed(shape, list))
    if not 2 <= len(sizes) <= 4 or sizes[0] != images or min(sizes) < 1:
        raise ValueError(f"a layer is [{images}, ...] of two to four axes")
    return sizes


def pack_support(turn: int, left: TimeLeft, images: ImagesHeader, labels: np.ndarray) -> bytes:
    """The SUPPORT payload without inline pixels; `labels` int64 [images]."""
    head = SUPPORT.pack(
        images.ways, images.shots, images.images, images.channels, images.height, images.width, images.place
    )
    return pack_command(turn, left) + head + np.ascontiguousarray(labels, dtype="<i8").tobytes()


def read_support(payload: bytes) -> tuple[ImagesHeader, np.ndarray, memoryview]:
    """Shape, labels int64 [n] and the rest (the inline pixels, empty for shared ones)."""
    ways, shots, count, channels, height, width, place = SUPPORT.unpack_from(payload, COMMAND.size)
    start = COMMAND.size + SUPPORT.size
    labels = np.frombuffer(payload, dtype="<i8", count=count, offset=start).astype(np.int64)
    header = ImagesHeader(count, channels, height, width, place, ways, shots)
    return header, labels, memoryview(payload)[start + 8 * count :]


def pack_query(turn: int, left: TimeLeft, images: ImagesHeader) -> bytes:
    """The QUERY payload without inline pixels."""
    head = QUERY.pack(images.images, images.channels, images.height, images.width, images.place)
    return pack_command(turn, left) + head


def read_query(payload: bytes) -> tuple[ImagesHeader, memoryview]:
    fields = QUERY.unpack_from(payload, COMMAND.size)
    return ImagesHeader(*fields), memoryview(payload)[COMMAND.size + QUERY.size :]


def read_turn(payload: bytes) -> int:
    """The turn that a reply repeats. Raises FrameError."""
    if len(payload) < TURN.size:
        raise FrameError("a reply without its turn")
    return TURN.unpack_from(payload)[0]


def pack_predictions(turn: int, labels: np.ndarray, probabilities: np.ndarray | None = None) -> bytes:
    """Labels int64 `[queries]`, then probabilities float32 `[queries, ways]` where there are some that fit."""
    said = TURN.pack(turn) + np.ascontiguousarray(labels, dtype="<i8").tobytes()
    if probabilities is None or len(said) + 4 * probabilities.size > MAXIMUM[FrameType.PREDICTIONS]:
        return said
    return said + np.ascontiguousarray(probabilities, dtype="<f4").tobytes()


def read_predictions(payload: bytes, count: int, ways: int, *, more: bool = False) -> np.ndarray:
    """int64 [count] in [0, ways). Raises FrameError for another length or range (an honest runner checks itself).

    With `more`, something may follow, which `read_probabilities` looks at.
    """
    length = TURN.size + 8 * count
    if len(payload) < length or (len(payload) > length and not more):
        raise FrameError(f"{len(payload) - TURN.size} bytes of predictions, {8 * count} expected")
    labels = np.frombuffer(payload, dtype="<i8", count=count, offset=TURN.size).astype(np.int64)
    if count and (labels.min() < 0 or labels.max() >= ways):
        raise FrameError("a predicted label outside the task's classes")
    return labels


def read_probabilities(payload: bytes, labels: np.ndarray, ways: int) -> np.ndarray | None:
    """What follows the predicted `labels` `[q]`: float32 `[q, ways]`, each row a distribution; None where nothing does.

    Raises FrameError for anything that is not: another length, a value that is no share, a row that does not sum to 1,
    a label that is not the likeliest of its row. Code that takes over its runner can write what it likes.
    """
    body = memoryview(payload)[TURN.size + 8 * len(labels) :]
    if not body:
        return None
    if len(body) != 4 * len(labels) * ways:
        raise FrameError("probabilities of another size than the task's")
    shares = np.frombuffer(body, "<f4").astype(np.float32).reshape(len(labels), ways)
    if not (np.isfinite(shares).all() and (shares >= 0).all()):
        raise FrameError("a probability that is negative or no finite number")
    if (np.abs(shares.sum(axis=1, dtype=np.float64) - 1) > SUM_TOLERANCE).any():
        raise FrameError("probabilities that do not sum to 1")
    if (shares[np.arange(len(labels)), labels] != shares.max(axis=1)).any():
        raise FrameError("a predicted label that is not the likeliest")
    return shares


class Stream(IntEnum):
    STDOUT = 1
    STDERR = 2


def read_log(payload: bytes) -> tuple[Stream, bytes]:
    if not payload or payload[0] not in (1, 2):
        raise FrameError("a log frame of no known stream")
    return Stream(payload[0]), payload[1:]


@dataclass(frozen=True, slots=True)
class LoggerRow:
    """One iteration that a participant logged.

    `validation` tells the table; `step` counts the validation rounds from 1 (0 while training), `iteration`
    counts within the table or round. `ways` and `shots` are -1 for batches, `loss` and `normalized_accuracy`
    NaN where there is none.
    """

    validation: bool
    step: int
    iteration: int
    ways: int
    shots: int
    loss: float
    accuracy: float
    normalized_accuracy: float
    dataset: str = ""

    def to_bytes(self) -> bytes:
        head = LOGGER_ROW.pack(
            int(self.validation),
            self.step,
            self.iteration,
            self.ways,
            self.shots,
            self.loss,
            self.accuracy,
            self.normalized_accuracy,
        )
        return head + self.dataset.encode()[:200]


def read_logger_row(payload: bytes) -> LoggerRow:
    if not LOGGER_ROW.size <= len(payload) <= LOGGER_ROW.size + 200:
        raise FrameError("a logger frame of a wrong length")
    validation, *numbers = LOGGER_ROW.unpack_from(payload)
    name = payload[LOGGER_ROW.size :].decode("utf-8", "replace")
    return LoggerRow(bool(validation), *numbers, dataset="".join(c for c in name if c.isprintable()))


class ErrorKind(IntEnum):
    """The kinds of failure a runner can report; all are the participant's."""

    EXCEPTION = 1
    BAD_PREDICTION = 2
    BAD_ARCHIVE = 3
    OUT_OF_MEMORY = 4
    OUT_OF_SPACE = 5


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of a traceback: `own` where it lies in the submission, whose lines the page highlights."""

    file: str
    line: int
    function: str
    own: bool


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """What a runner tells about a failure. `traceback` and `message` may carry anything the participant likes."""

    kind: ErrorKind
    exception: str
    message: str
    traceback: str = ""
    lines: tuple[CodeLine, ...] = ()

    def to_bytes(self) -> bytes:
        """At most 60 kB: texts are cut in the middle where they are longer."""
        data = {
            "kind": int(self.kind),
            "exception": _cut(self.exception, 200),
            "message": _cut(self.message, 4_000),
            "traceback": _cut(self.traceback, 8_000),
            "lines": [
                [_cut(line.file, 200), line.line, _cut(line.function, 100), line.own]
                for line in self.lines[-30:]
            ],
        }
        return json.dumps(data, ensure_ascii=True).encode()[: 64 << 10]


def read_error(payload: bytes) -> ErrorReport:
    """Read the runner's account of an error, checked; raises FrameError."""
    try:
        data = json.loads(payload)
        return ErrorReport(
            kind=ErrorKind(_typed(data["kind"], int)),
            exception=_typed(data["exception"], str)[:200],
            message=_typed(data["message"], str)[:4_100],
            traceback=_typed(data["traceback"], str)[:8_100],
            lines=tuple(_code_line(item) for item in _typed(data["lines"], list)[:30]),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FrameError(f"an error frame that cannot be read ({type(error).__name__})") from error


def _code_line(item: Any) -> CodeLine:
    file, line, function, own = _typed(item, list)
    number = min(max(_typed(line, int), 0), 10_000_000)
    return CodeLine(_typed(file, str)[:200], number, _typed(function, str)[:100], bool(own))


def _typed(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"

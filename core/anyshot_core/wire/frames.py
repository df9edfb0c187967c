"""Frames between task server (trusted) and runner (untrusted), version 1.

A frame is an 8-byte header (type u8, three zero bytes, payload length u32, little-endian) and the payload. Every
type has a maximum known before anything of the payload is read. Each command of the task server carries a random
*turn*; the reply to it starts with the same number, so that nothing sent ahead of its time can pass for a reply.
No payload is ever pickled; JSON occurs only in small bounded frames and is validated on arrival.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

VERSION = 1
HEADER = struct.Struct("<B3xI")
TURN = struct.Struct("<Q")
CHUNK = 1 << 20  # bytes of a blob that travel in one frame

KIB, MIB = 1 << 10, 1 << 20


class FrameType(IntEnum):
    """What a frame says; below 64 from the runner, from 64 on from the task server."""

    # runner -> task server
    READY = 1  # warm: interpreter and libraries are loaded, waiting for a job
    UNPACKED = 2  # the bundle lies in the scratch space
    IMPORTED = 3  # model.py was imported and names the two classes
    TRAINED = 4  # meta_fit and save are done; says which snapshots there are
    LOADED = 5  # a fresh learner was made and loaded; no task seen yet
    FITTED = 6  # the predictor exists; asks for the query
    PREDICTIONS = 7  # int64 labels, as many as the query has, and probabilities where the job asks for them
    LEARNER = 8  # a piece of what is exported: a learner, a snapshot, layers
    EXPORTED = 9  # the last piece was sent
    RESTORED = 10  # an imported learner lies where `load` looks for it
    FINISHED = 11  # the runner ends after this
    LOG = 16  # captured output
    LOGGER = 17  # one iteration that the participant logged
    ERROR = 18  # the run cannot go on
    STEP = 19  # meta_fit asks for its first task or batch
    CHECKPOINT = 20  # a piece of what a meta-learner saved of itself while it trains; an empty one ends it
    # task server -> runner
    JOB = 64
    BUNDLE = 65  # a piece of the zip
    UNPACK = 66  # the zip is complete
    IMPORT = 67
    TRAIN = 68
    STORE = 69  # a piece of a learner that was exported before
    RESTORE = 70  # that learner is complete
    LOAD = 71
    SUPPORT = 72
    QUERY = 73
    EXPORT = 74
    FINISH = 75
    FEATURES = 76  # asks for the layers of some images; answered like EXPORT
    SAVE = 77  # asks a meta-learner that trains for a checkpoint; has no turn


MAXIMUM: dict[FrameType, int] = {
    FrameType.READY: 4 * KIB,
    FrameType.UNPACKED: 64,
    FrameType.IMPORTED: 64,
    FrameType.TRAINED: 4 * KIB,
    FrameType.LOADED: 64,
    FrameType.FITTED: 64,
    FrameType.PREDICTIONS: 8 * MIB,
    FrameType.LEARNER: CHUNK,
    FrameType.EXPORTED: 64,
    FrameType.RESTORED: 64,
    FrameType.FINISHED: 64,
    FrameType.LOG: 64 * KIB,
    FrameType.LOGGER: KIB,
    FrameType.ERROR: 64 * KIB,
    FrameType.STEP: 0,
    FrameType.CHECKPOINT: CHUNK,
    FrameType.JOB: MIB,
    FrameType.BUNDLE: CHUNK,
    FrameType.UNPACK: 64,
    FrameType.IMPORT: 64,
    FrameType.TRAIN: 64,
    FrameType.STORE: CHUNK,
    FrameType.RESTORE: 64,
    FrameType.LOAD: 64,
    FrameType.SUPPORT: 512 * MIB,
    FrameType.QUERY: 512 * MIB,
    FrameType.EXPORT: 64,
    FrameType.FINISH: 64,
    FrameType.FEATURES: 512 * MIB,
    FrameType.SAVE: 0,
}

FROM_RUNNER = frozenset(kind for kind in FrameType if kind < FrameType.JOB)
FROM_TASK_SERVER = frozenset(FrameType) - FROM_RUNNER


class FrameError(Exception):
    """Bytes on the stream that are no frame of this version, or one that is too long."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; `payload` has at most `MAXIMUM[kind]` bytes."""

    kind: FrameType
    payload: bytes


def encode(kind: FrameType, payload: bytes = b"") -> bytes:
    """The bytes of a frame. Raises FrameError where the payload exceeds the type's maximum."""
    return header(kind, len(payload)) + payload


def header(kind: FrameType, length: int) -> bytes:
    """The header of a frame whose payload is sent separately (to spare a copy of large ones)."""
    if length > MAXIMUM[kind]:
        raise FrameError(f"{kind.name} frame of {length} bytes, allowed {MAXIMUM[kind]}")
    return HEADER.pack(kind, length)


class Decoder:
    """Cuts a byte stream into frames; refuses a wrong type or length as soon as the header is there.

    `accepted` are the types of the other side. Memory stays below one frame of the largest accepted type
    that was announced plus the piece fed last.
    """

    def __init__(self, accepted: frozenset[FrameType]) -> None:
        self._accepted = accepted
        self._buffer = bytearray()
        self._limits = {kind: MAXIMUM[kind] for kind in accepted}

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Add bytes and yield the frames that are complete. Raises FrameError."""
        self._buffer += data
        while (frame := self._next()) is not None:
            yield frame

    def _next(self) -> Frame | None:
        if len(self._buffer) < HEADER.size:
            return None
        kind, length = self._header()
        if len(self._buffer) < HEADER.size + length:
            return None
        payload = bytes(memoryview(self._buffer)[HEADER.size : HEADER.size + length])
        del self._buffer[: HEADER.size + length]
        return Frame(kind, payload)

    def _header(self) -> tuple[FrameType, int]:
        number, length = HEADER.unpack_from(self._buffer)
        if any(self._buffer[1:4]):
            raise FrameError("bytes that are not a frame header")
        if number not in self._limits:
            raise FrameError(f"a frame of type {number} does not come from this side")
        kind = FrameType(number)
        if length > self._limits[kind]:
            raise FrameError(f"{kind.name} frame of {length} bytes announced, allowed {self._limits[kind]}")
        return kind, length

    @property
    def pending(self) -> int:
        """Bytes of a frame that has begun and is not complete."""
        return len(self._buffer)

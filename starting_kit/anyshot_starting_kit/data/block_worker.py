"""Processes that decode blocks of images straight into an unfinished pack.

`python -m anyshot_starting_kit.data.block_worker` answers one JSON line on stdin with one on stdout. A plain
child process, and not `multiprocessing`, because the latter either forks a process that may have threads or
imports the caller's main module again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

from anyshot_starting_kit.data.digests import block_digest
from anyshot_starting_kit.data.images import IMAGE_BYTES, UnreadableImage, WrongMode, decode_into
from anyshot_starting_kit.data.problems import DataError


@dataclass(frozen=True)
class BlockJob:
    """Decode `files` of the folder `images` and write them into `out` from byte `offset` on."""

    block: int
    images: str
    files: list[str]
    out: str
    offset: int
    convert: bool
    hash: str


@dataclass(frozen=True)
class BadImage:
    """An image that could not be used: its place in the block and why."""

    position: int
    reason: str
    wrong_mode: bool


@dataclass(frozen=True)
class BlockResult:
    """A block that was written: the digest of its pixels and the images that are missing in it (left black)."""

    block: int
    digest: str
    bad: tuple[BadImage, ...]

    @classmethod
    def from_dict(cls, data: dict[str, object]) -> BlockResult:
        """The inverse of `dataclasses.asdict`."""
        bad = data["bad"]
        assert isinstance(bad, list)
        return cls(int(str(data["block"])), str(data["digest"]), tuple(BadImage(**item) for item in bad))


class BlockWorkers:
    """A pool of worker processes, by default one a core; with 0 the caller does the work. A context manager."""

    def __init__(self, count: int | None = None) -> None:
        self.count = (os.cpu_count() or 1) if count is None else count

    def __enter__(self) -> BlockWorkers:
        self._threads = ThreadPoolExecutor(max(self.count, 1))
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._processes = [_start() for _ in range(self.count)]
        for process in self._processes:
            self._idle.put(process)
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.communicate()  # closes stdin, which ends it
            process.wait()

    def run(self, jobs: Iterable[BlockJob]) -> Iterator[BlockResult]:
        """Results in the order of completion; never more than two jobs a process are queued."""
        if self.count == 0:
            yield from (_answer(job, bytearray(len(job.files) * IMAGE_BYTES)) for job in jobs)
            return
        waiting: set[Future[BlockResult]] = set()
        for job in jobs:
            waiting.add(self._threads.submit(self._run_one, job))
            if len(waiting) >= 2 * self.count:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        done, _ = wait(waiting)
        yield from (future.result() for future in done)

    def _run_one(self, job: BlockJob) -> BlockResult:
        process = self._idle.get()
        try:
            return _ask(process, job)
        finally:
            self._idle.put(process)


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "anyshot_starting_kit.data.block_worker"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _ask(process: subprocess.Popen[bytes], job: BlockJob) -> BlockResult:
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(asdict(job)).encode() + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    except BrokenPipeError:
        answer = b""
    if not answer:
        raise DataError(
            f"A packing process died at {job.files[0]} to {job.files[-1]}. Call again to continue."
        )
    reply = json.loads(answer)
    if "error" in reply:
        raise _cannot_write(job, reply["error"])
    return BlockResult.from_dict(reply)


def _answer(job: BlockJob, buffer: bytearray) -> BlockResult:
    try:
        return write_block(job, buffer)
    except OSError as error:
        raise _cannot_write(job, str(error)) from error


def _cannot_write(job: BlockJob, reason: str) -> DataError:
    return DataError(f"{job.out}: {reason}. Make room or choose another folder, then call again to continue.")


def write_block(job: BlockJob, buffer: bytearray) -> BlockResult:
    """Decode one block into `buffer` (at least as long as the block) and write it."""
    bad = []
    view = memoryview(buffer)[: len(job.files) * IMAGE_BYTES]
    for position, file in enumerate(job.files):
        place = slice(position * IMAGE_BYTES, (position + 1) * IMAGE_BYTES)
        try:
            decode_into(Path(job.images, file), view[place], convert=job.convert)
        except (UnreadableImage, WrongMode) as error:
            bad.append(BadImage(position, str(error), isinstance(error, WrongMode)))
            view[place] = bytes(IMAGE_BYTES)
    descriptor = os.open(job.out, os.O_WRONLY)
    try:
        _write_all(descriptor, view, job.offset)
    finally:
        os.close(descriptor)
    return BlockResult(job.block, block_digest(job.hash)(view).hex(), tuple(bad))


def _write_all(descriptor: int, view: memoryview, offset: int) -> None:
    while len(view):
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def main() -> None:
    """Answer jobs until stdin ends."""
    buffer = bytearray()
    for line in sys.stdin.buffer:
        job = BlockJob(**json.loads(line))
        if len(buffer) < len(job.files) * IMAGE_BYTES:
            buffer = bytearray(len(job.files) * IMAGE_BYTES)
        try:
            reply = asdict(write_block(job, buffer))
        except OSError as error:  # a full disk, a folder that went away
            reply = {"error": str(error)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""The pool of processes that decode blocks (`block_worker`).

Plain child processes, and not `multiprocessing`, because the latter either forks a process that may have threads or
imports the caller's main module again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict
from queue import SimpleQueue

from anyshot_core.data.block_worker import BlockJob, BlockResult, write_block
from anyshot_core.data.problems import DataError


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
            yield from (_answer(job) for job in jobs)
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
    command = [sys.executable, "-m", "anyshot_core.data.block_worker"]
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


def _answer(job: BlockJob) -> BlockResult:
    try:
        return write_block(job)
    except OSError as error:
        raise _cannot_write(job, str(error)) from error


def _cannot_write(job: BlockJob, reason: str) -> DataError:
    return DataError(f"{job.out}: {reason}. Make room or choose another folder, then call again to continue.")

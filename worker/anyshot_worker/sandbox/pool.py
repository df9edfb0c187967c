"""Warm boxes: started, torch imported, waiting for a job. Each serves one submission and is then thrown away."""

import contextlib
import threading
import time
from dataclasses import replace

from anyshot_worker.sandbox.interface import Backend, Box, BoxSpec, SandboxError


class WarmPool:
    """Keeps `size` boxes of the kind that was asked for last.

    Warming up takes two seconds of a core, so with `eager` off it waits until no box is at work: the time of
    whoever runs is measured.
    """

    def __init__(self, backend: Backend, size: int, spec: BoxSpec | None = None) -> None:
        self._backend, self._size = backend, size
        self._spec = spec
        self._warm: list[Box] = []
        self._at_work = 0
        self._eager = False
        self._closed = False
        self._failed_until = 0.0
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._keep_warm, name="warm-pool", daemon=True)
        if size:
            self._thread.start()

    def take(self, spec: BoxSpec, *, eager: bool = False) -> tuple[Box, float]:
        """A box of that kind and the seconds that its start took now: 0 when a warm one was there."""
        with self._changed:
            self._at_work += 1
            self._eager = eager
            unfit = [box for box in self._warm if not _alike(box.spec, spec)]
            self._warm = [box for box in self._warm if _alike(box.spec, spec)]
            self._spec = spec
            box = self._next_alive(unfit)
            self._changed.notify_all()
        for old in unfit:
            old.close()
        if box is not None:
            return box, 0.0
        began = time.monotonic()
        try:
            return self._backend.start(spec), time.monotonic() - began
        except BaseException:
            self.done()
            raise

    def done(self) -> None:
        """A box that was taken is at its end."""
        with self._changed:
            self._at_work -= 1
            self._changed.notify_all()

    def waiting(self) -> int:
        """How many boxes are warm."""
        with self._changed:
            return len(self._warm)

    def cpu_seconds(self) -> float:
        """What the warm boxes have used of the processor so far: at rest, they are ready."""
        with self._changed:
            return sum(box.usage().cpu_seconds for box in self._warm)

    def wait_until_warm(self, patience: float) -> bool:
        """Whether the pool filled up within `patience` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._warm) >= self._size, patience)

    def close(self) -> None:
        """Throw every warm box away and start no more."""
        with self._changed:
            self._closed = True
            boxes, self._warm = self._warm, []
            self._changed.notify_all()
        for box in boxes:
            box.close()
        if self._thread.is_alive():
            self._thread.join(60)

    def _next_alive(self, unfit: list[Box]) -> Box | None:
        while self._warm:
            box = self._warm.pop(0)
            if box.alive():
                return box
            unfit.append(box)
        return None

    def _wanted(self) -> bool:
        may_start = self._eager or self._at_work == 0
        return self._spec is not None and len(self._warm) < self._size and may_start

    def _keep_warm(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._wanted(), 5.0)
                if self._closed:
                    return
                spec = self._spec if self._wanted() and time.monotonic() > self._failed_until else None
            if spec is not None:
                self._warm_one(spec)
            elif time.monotonic() < self._failed_until:
                time.sleep(0.2)

    def _warm_one(self, spec: BoxSpec) -> None:
        try:
            box = self._backend.start(spec)
        except SandboxError:  # the next `take` says why; here it is only tried again later
            self._failed_until = time.monotonic() + 10
            return
        with self._changed:
            fits = not self._closed and self._spec is not None and _alike(self._spec, spec)
            if fits:
                self._warm.append(box)
                self._changed.notify_all()
        if not fits:
            with contextlib.suppress(SandboxError):
                box.close()


def _alike(one: BoxSpec, other: BoxSpec) -> bool:
    return replace(one, labels={}) == replace(other, labels={})

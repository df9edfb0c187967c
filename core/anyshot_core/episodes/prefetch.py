"""Work done ahead of the consumer by threads, in order, with a bounded number of results in memory."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from anyshot_core.data.images import IMAGE_SHAPE

ROOM = 1024  # images: 48 MiB of addresses
Job = TypeVar("Job")
Result = TypeVar("Result")


class PrefetchSlot:
    """A buffer for images, used again unless `fresh`.

    One that is used again starts with room for more images than tasks usually have, so that it need not be replaced
    while someone still holds what was in it; memory that is never written to costs nothing.
    """

    def __init__(self, fresh: bool = False) -> None:
        self._fresh = fresh
        self._images = np.empty((0, *IMAGE_SHAPE), dtype=np.uint8)

    def images(self, count: int) -> np.ndarray:
        """A buffer uint8 `[count, 3, 128, 128]`."""
        if self._fresh or len(self._images) < count:
            self._images = np.empty(
                (count if self._fresh else max(count, ROOM), *IMAGE_SHAPE), dtype=np.uint8
            )
        return self._images[:count]


def prefetch(
    jobs: Iterable[Job], make: Callable[[Job, PrefetchSlot], Result], *, ahead: int, threads: int, reuse: bool
) -> Iterator[Result]:
    """Yield `make(job, slot)` for each job in order, with up to `ahead` results waiting beside the one in use.

    With `reuse`, the slot of a result is filled again as soon as the next result is asked for. An error in `make`
    is raised when its turn comes. Closing the generator stops the threads.
    """
    free = deque(PrefetchSlot(fresh=not reuse) for _ in range(ahead + 1))
    waiting: deque[tuple[Future[Result], PrefetchSlot]] = deque()
    remaining = iter(jobs)
    executor = ThreadPoolExecutor(threads, thread_name_prefix="anyshot-prefetch")
    try:
        while True:
            while free and (job := next(remaining, None)) is not None:
                slot = free.popleft()
                waiting.append((executor.submit(make, job, slot), slot))
            if not waiting:
                return
            future, slot = waiting.popleft()
            yield future.result()
            del future  # it holds the result
            free.append(slot)
    finally:
        executor.shutdown(cancel_futures=True)

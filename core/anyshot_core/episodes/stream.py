"""Tasks in a row, prefetched, as uint8 arrays."""

from collections.abc import Iterator

from anyshot_core.data.pool import Pool
from anyshot_core.episodes.arrays import TaskArrays
from anyshot_core.episodes.prefetch import PrefetchSlot, prefetch
from anyshot_core.protocols.task import Protocol

AHEAD = 2
THREADS = 2


def stream(
    pool: Pool,
    protocol: Protocol,
    seed: int,
    count: int,
    *,
    start: int = 0,
    ahead: int = AHEAD,
    threads: int = THREADS,
    reuse: bool = False,
) -> Iterator[TaskArrays]:
    """Tasks `start` to `start + count - 1` in order, drawn and read by threads ahead of the consumer.

    At most `ahead` tasks wait in memory beside the one in use. With `reuse`, the buffers are filled again: a task's
    images are valid until the next one is asked for.

    Raises:
        ProtocolError: the pool cannot offer a task, when its turn comes.
    """

    def read(index: int, slot: PrefetchSlot) -> TaskArrays:
        spec = protocol.task(pool, seed, index)
        return TaskArrays(spec, pool[spec.dataset].read_rows(spec.rows, slot.images(len(spec.rows))))

    return prefetch(range(start, start + count), read, ahead=ahead, threads=threads, reuse=reuse)

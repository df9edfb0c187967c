"""One writer at a time for a file that is renamed into place when it is whole."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def only_writer(partial: Path) -> Iterator[None]:
    """Wait until no other thread or process writes this unfinished file; it exists, maybe empty, from then on.

    The lock is on the file itself: who waited for one that has been renamed since starts over with a new one.
    """
    while True:
        with partial.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_still(file.fileno(), partial):
                yield
                return


def _is_still(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False

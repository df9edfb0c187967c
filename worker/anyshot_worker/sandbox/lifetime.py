"""A box closes once, from whichever thread, and whoever counts on it hears of it."""

import threading
from collections.abc import Callable


class Lifetime:
    """Base of the boxes: `close` runs `_dismantle` once and then tells who asked to be told."""

    def __init__(self) -> None:
        self._closing = threading.Lock()
        self._closed = False
        self._listeners: list[Callable[[], object]] = []

    def when_closed(self, listener: Callable[[], object]) -> None:
        """Call `listener` after the box was closed; at once if it is."""
        with self._closing:
            if not self._closed:
                self._listeners.append(listener)
                return
        listener()

    def close(self) -> None:
        """End the box and leave nothing of it; harmless when repeated."""
        with self._closing:
            if self._closed:
                return
            try:
                self._dismantle()
            finally:
                self._closed = True
                listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def _dismantle(self) -> None:
        raise NotImplementedError

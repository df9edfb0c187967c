"""Which statements a test makes its site ask."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event

from anyshot_platform.foundation.database import Database

_OURS = ("MainThread", "AnyIO")  # the test, and the threads of its requests


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """Those of the test and of its requests, in their order; what the site's own loops ask meanwhile is none."""
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if threading.current_thread().name.startswith(_OURS):
            asked.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(database.engine, "before_cursor_execute", note)

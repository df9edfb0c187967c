"""Serves an application of the test's own to real browsers and clients."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from tests.services.processes import wait_until


@contextmanager
def served(app: Any, port: int, **options: Any) -> Iterator[str]:
    """The address on loopback where uvicorn serves it until the block ends; `options` are uvicorn's.

    A browser leaves its streams open: they are cut at the end, not waited for.
    """
    options = {"log_level": "critical", "ws": "none", "timeout_graceful_shutdown": 1, **options}
    server = uvicorn.Server(uvicorn.Config(app, port=port, **options))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the site")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()

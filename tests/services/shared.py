"""What a whole test run has once, however many processes of pytest-xdist it runs in."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.services import keeper

_KEPT: list[subprocess.Popen[Any]] = []  # so that nobody collects them while they run


def is_part() -> bool:
    """Whether this process is one of several that share a run."""
    return "PYTEST_XDIST_WORKER" in os.environ


def run_process() -> int:
    """The process whose end is the end of the run."""
    return os.getppid() if is_part() else os.getpid()


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[], Any]) -> Any:
    """What `make` gave (in JSON) in the first process of the run that asked; the others wait for it."""
    own = factory.getbasetemp()
    folder = own.parent if is_part() else own
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = folder / f"{name}.json"
        if not kept.exists():
            kept.write_text(json.dumps(make()))
        return json.loads(kept.read_text())


def keep_running(command: list[str], folder: Path, log: Path, user: str | None = None) -> None:
    """Start a server that lives as long as the run; `folder` is removed after it."""
    keep = [sys.executable, keeper.__file__, str(run_process()), str(folder), user or "", *command]
    with log.open("wb") as out:
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": subprocess.STDOUT}
        _KEPT.append(subprocess.Popen(keep, start_new_session=True, **options))

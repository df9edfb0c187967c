"""Sandboxes for `anyshot dry-run --docker` and `--bubblewrap`: entry points of the group `anyshot.sandboxes`."""

from __future__ import annotations

import atexit
import uuid
from functools import cache
from typing import Literal

from anyshot_starting_kit.dryrun.evaluate import NoSandbox
from anyshot_starting_kit.dryrun.publicdata import default_cache
from anyshot_starting_kit.taskserver.channel import Channel
from anyshot_starting_kit.wire.worker_api import Limits
from anyshot_worker.sandbox import SandboxError, Sandboxes, SandboxSettings

Kind = Literal["docker", "bubblewrap"]


def docker(cpus: int, memory_bytes: int) -> Channel:
    """A runner in the sandbox image. Raises NoSandbox where Docker or the image is missing."""
    return _open("docker", cpus, memory_bytes)


def bubblewrap(cpus: int, memory_bytes: int) -> Channel:
    """A runner under Bubblewrap. Raises NoSandbox where that cannot be had."""
    return _open("bubblewrap", cpus, memory_bytes)


def _open(kind: Kind, cpus: int, memory_bytes: int) -> Channel:
    limits = Limits(memory_bytes=memory_bytes, cpus=cpus)
    try:
        return _sandboxes(kind).open(None, limits, run_id=f"dry-run-{uuid.uuid4().hex[:8]}", epoch=1).channel
    except SandboxError as error:
        raise NoSandbox(f"The sandbox {kind} cannot be used here: {error}") from error


@cache
def _sandboxes(kind: Kind) -> Sandboxes:
    """One for the process: its guarantees are checked once."""
    folder = default_cache() / "sandbox"
    folder.mkdir(parents=True, exist_ok=True)
    made = Sandboxes.from_settings(
        SandboxSettings(sandbox=kind, state_folder=folder, pool_size=0, owner="anyshot-dry-run")
    )
    atexit.register(made.close)
    return made

"""Fixtures for real boxes on this machine: an image that matches the source, settings that disturb nobody."""

import functools
import gc
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anyshot_worker.images.build import build_image
from anyshot_worker.sandbox import SandboxSettings
from anyshot_worker.sandbox.slots import Slot, take_slot


@functools.cache
def _own_users() -> Slot:
    """64 user ids that no other test process of this machine uses: the kernel counts processes by user."""
    return take_slot(Path(tempfile.gettempdir()) / "anyshot-tests-users", 0, 600)


def sandbox_settings(
    folder: Path, runtime: str = "runc", pool_size: int = 0, backend: str = "docker"
) -> SandboxSettings:
    """Settings with a state folder, an owner and user ids of this test session's own."""
    return SandboxSettings.model_validate(
        {
            "sandbox": backend,
            "docker_runtime": runtime,
            "state_folder": folder,
            "pool_size": pool_size,
            "owner": f"test-{os.getpid()}",
            "uid_base": 20000 + 64 * _own_users().number,
        }
    )


@pytest.fixture(scope="session")
def sandbox_image(docker_daemon: None) -> str:
    """The CPU image with the present source in it: built on the first use, a second when nothing changed."""
    build_image("cpu", SandboxSettings().images_folder, say=lambda line: None)
    return "cpu"


@contextmanager
def nobody_answers() -> Iterator[None]:
    """The client library leaves its socket open when nobody answers the first question: collect it here.

    It is young; looking through all that a test process holds takes a second and a half.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect(1)

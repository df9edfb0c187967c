"""Backends of this test session's own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anyshot_core.wire.worker_api import Limits
from anyshot_worker.sandbox.docker import DockerBackend, DockerBox
from anyshot_worker.sandbox.interface import BoxSpec
from tests.worker.sandbox.machine import sandbox_settings

SMALL = Limits(memory_bytes=256 << 20, cpus=1.0, processes=64, scratch_bytes=32 << 20)

StartBox = Callable[..., DockerBox]


@pytest.fixture
def docker_backend(sandbox_image: str, tmp_path: Path) -> Iterator[DockerBackend]:
    backend = DockerBackend(sandbox_settings(tmp_path))
    yield backend
    backend.close()


@pytest.fixture
def start_box(docker_backend: DockerBackend) -> Iterator[StartBox]:
    """Start a box that runs a few lines of Python; all are closed at the end."""
    boxes: list[DockerBox] = []

    def start(code: str, limits: Limits = SMALL, without: frozenset[str] = frozenset()) -> DockerBox:
        box = docker_backend.start(BoxSpec("cpu", limits, ("-I", "-c", code), without=without))
        boxes.append(box)
        return box

    yield start
    for box in boxes:
        box.close()

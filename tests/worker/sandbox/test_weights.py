"""The operator's pretrained weights: read-only in the boxes that may have them, and in no other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from anyshot_worker.sandbox import Sandboxes
from anyshot_worker.sandbox.box_folders import BoxFolders
from anyshot_worker.sandbox.bubblewrap import bubblewrap_arguments
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.interface import BoxSpec
from anyshot_worker.sandbox.preflight import check_guarantees
from tests.worker.sandbox.conftest import SMALL
from tests.worker.sandbox.fake import FakeBackend
from tests.worker.sandbox.machine import sandbox_settings

LOOK = """
import os
try:
    print(open("/weights/net.pt").read(), end=" ")
except OSError as error:
    print(type(error).__name__, end=" ")
try:
    open("/weights/own.pt", "w")
except OSError as error:
    print(os.strerror(error.errno), flush=True)
"""


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    folder.mkdir(mode=0o755)
    (folder / "net.pt").write_text("numbers")
    (folder / "net.pt").chmod(0o644)
    return folder


@pytest.fixture
def backend(sandbox_image: str, tmp_path: Path, weights: Path) -> Iterator[DockerBackend]:
    settings = sandbox_settings(tmp_path / "state").model_copy(update={"weights_folder": weights})
    backend = DockerBackend(settings)
    yield backend
    backend.close()


@pytest.mark.parametrize(
    ("offered", "said"),
    [(True, b"numbers Read-only file system"), (False, b"FileNotFoundError No such file or directory")],
)
def test_weights_can_be_read_and_not_written(backend: DockerBackend, offered: bool, said: bytes) -> None:
    box = backend.start(BoxSpec("cpu", SMALL, ("-I", "-c", LOOK), weights=offered))
    try:
        assert box.recv(60) == said + b"\n"
    finally:
        box.close()


def test_doctor_proves_the_weights_or_says_what_to_do(backend: DockerBackend, weights: Path) -> None:
    def wrong() -> str:
        findings = check_guarantees(backend, "cpu", weights=True)
        return next(finding.wrong for finding in findings if finding.guarantee.name == "weights")

    assert wrong() == ""
    (weights / "net.pt").chmod(0o600)
    assert wrong() == "cannot be read inside: net.pt"
    (weights / "net.pt").unlink()
    assert wrong() == "no file is in it"


def test_a_warm_box_with_weights_does_not_serve_a_run_that_may_not_have_them(
    tmp_path: Path, weights: Path
) -> None:
    fake = FakeBackend()
    settings = sandbox_settings(tmp_path / "state", pool_size=1).model_copy(
        update={"weights_folder": weights}
    )
    sandboxes = Sandboxes(fake, settings)
    try:
        assert sandboxes.pool.wait_until_warm(10)
        without = sandboxes.open("cpu", SMALL, "from-scratch", 1, weights=False)
        assert not without.box.spec.weights
        assert sandboxes.open("cpu", SMALL, "free-style", 1).box.spec.weights
    finally:
        sandboxes.close()


def test_without_a_folder_no_box_asks_for_one(tmp_path: Path) -> None:
    sandboxes = Sandboxes(FakeBackend(), sandbox_settings(tmp_path))
    try:
        assert not sandboxes.open("cpu", SMALL, "run", 1).box.spec.weights
    finally:
        sandboxes.close()


def test_bubblewrap_binds_the_folder_read_only(tmp_path: Path, weights: Path) -> None:
    stage = BoxFolders(tmp_path / "state", tmp_path, "name")
    command = bubblewrap_arguments(BoxSpec("cpu", SMALL), tmp_path, stage, 20000, 3, weights)
    at = command.index("/weights")
    assert command[at - 2 : at + 1] == ["--ro-bind", str(weights), "/weights"]
    assert (tmp_path / "weights").is_dir()
    assert "/weights" not in bubblewrap_arguments(BoxSpec("cpu", SMALL), tmp_path, stage, 20000, 3)

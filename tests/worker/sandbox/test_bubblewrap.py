"""The reduced backend: what it does promise is proved, what it does not is said."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Limits
from anyshot_worker.images.build import build_folder
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from anyshot_worker.sandbox.bubblewrap import BubblewrapBackend, counts_by_namespace
from anyshot_worker.sandbox.filter import compile_profile
from anyshot_worker.sandbox.flags import NPROC_ROOM
from anyshot_worker.sandbox.guarantees import GUARANTEES
from anyshot_worker.sandbox.interface import BoxSpec, SandboxError
from anyshot_worker.sandbox.preflight import check_guarantees
from tests.hostile.bench import Data, evaluate, make_data
from tests.hostile.cases import FOLDER, Expected, read_expected
from tests.worker.sandbox.machine import sandbox_settings
from tests.worker.sandbox.test_compiled import compiles

SMALL = Limits(memory_bytes=256 << 20, processes=64, scratch_bytes=32 << 20)
ATTACKS = (
    "06_memory_bomb",
    "14_daemon",
    "20_privileged_system_calls",
    "02_forbidden_socket_families",
    "24_flood_of_output",
)


@pytest.fixture(scope="session")
def bubblewrap() -> Iterator[BubblewrapBackend]:
    if shutil.which("bwrap") is None or shutil.which("mmdebstrap") is None:
        pytest.skip(
            "Bubblewrap or mmdebstrap is not installed (Debian: apt-get install bubblewrap mmdebstrap)"
        )
    folder = Path(tempfile.mkdtemp(prefix="anyshot-bubblewrap-"))
    folder.chmod(0o755)  # another user has to reach the image
    build_folder("cpu", SandboxSettings().images_folder, say=lambda line: None)
    yield BubblewrapBackend(sandbox_settings(folder, backend="bubblewrap"))
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def bubblewrap_data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return make_data(tmp_path_factory.mktemp("bubblewrap-data"))


def test_what_it_promises_holds(bubblewrap: BubblewrapBackend) -> None:
    failed = {f.guarantee.name: f.wrong for f in check_guarantees(bubblewrap, "cpu") if not f.holds}
    assert failed == {}


def test_it_says_what_it_cannot_promise(bubblewrap: BubblewrapBackend) -> None:
    assert bubblewrap.reduced
    assert {"scratch", "kernel_files"} <= bubblewrap.not_promised < {item.name for item in GUARANTEES}


@pytest.mark.parametrize("flag", ["seccomp", "network"])
def test_a_broken_guarantee_is_noticed(bubblewrap: BubblewrapBackend, flag: str) -> None:
    findings = check_guarantees(bubblewrap, "cpu", frozenset({flag}))
    assert flag in {finding.guarantee.name for finding in findings if not finding.holds}


def test_an_honest_submission_scores(
    bubblewrap: BubblewrapBackend, bubblewrap_data: Data, tmp_path: Path
) -> None:
    sandboxes = Sandboxes(bubblewrap, bubblewrap.settings)
    honest = Expected(number=0, attack="none", verdict=[Verdict.OK])
    seen = evaluate(sandboxes, bubblewrap_data, None, honest, tmp_path)
    sandboxes.close()
    assert seen.outcome.verdict == Verdict.OK, seen.outcome.failure
    assert (seen.left_behind, seen.processes_left) == ((), [])


@pytest.mark.slow("a C++ compiler reads the headers of torch")
def test_torch_compile_works(bubblewrap: BubblewrapBackend, tmp_path: Path) -> None:
    sandboxes = Sandboxes(bubblewrap, bubblewrap.settings)
    compiles(sandboxes, tmp_path)
    sandboxes.close()


@pytest.mark.rotating
@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_end_as_under_docker(
    bubblewrap: BubblewrapBackend, bubblewrap_data: Data, attack: str, tmp_path: Path
) -> None:
    expected = read_expected(FOLDER / attack)
    sandboxes = Sandboxes(bubblewrap, bubblewrap.settings)
    seen = evaluate(sandboxes, bubblewrap_data, FOLDER / attack, expected, tmp_path)
    sandboxes.close()
    assert seen.outcome.verdict in expected.verdict, (seen.outcome.failure, seen.text[-1000:])
    assert "BREACH" not in seen.text
    assert (seen.left_behind, seen.processes_left) == ((), [])


def test_frozen_box_stands_still(bubblewrap: BubblewrapBackend) -> None:
    code = "import time\nwhile True: print(time.monotonic(), flush=True); time.sleep(0.02)"
    box = bubblewrap.start(BoxSpec("cpu", SMALL, ("-I", "-c", code)))
    try:
        assert box.recv(60)
        box.freeze()
        while box.recv(0.3):
            pass
        assert box.recv(0.5) is None
        box.thaw()
        assert box.recv(60)
    finally:
        box.close()
    assert box.left_behind() == ()


FORKS = """
import os, time
made = 0
try:
    while made < 1000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
except OSError:
    print(made, flush=True)
time.sleep(60)
"""


@pytest.mark.slow("starts as many processes as a box may have")
def test_processes_of_the_same_user_do_not_count_to_the_limit(bubblewrap: BubblewrapBackend) -> None:
    """An ordinary user's boxes have the user id of all else that runs; a desktop alone has hundreds of threads."""
    if not counts_by_namespace():
        pytest.skip("this kernel (before 5.14) counts a user's processes together, whatever their namespace")
    limit = SMALL.processes + NPROC_ROOM
    spec = BoxSpec("cpu", SMALL, ("-I", "-c", FORKS), without=frozenset({"processes"}))  # no control group
    with crowd(bubblewrap.settings.uid_base, limit + 8):
        box = bubblewrap.start(spec)
        try:
            assert int(box.recv(60) or 0) == limit - 1  # it is one of them itself
        finally:
            box.close()
    assert box.left_behind() == ()


@contextmanager
def crowd(uid: int, count: int) -> Iterator[None]:
    """So many idle processes with the user id that a box would get, children of ours, so that we can reap them all."""
    become: dict[str, Any] = {"user": uid, "group": uid, "extra_groups": []} if os.geteuid() == 0 else {}
    idle = [subprocess.Popen(["sleep", "600"], **become) for _ in range(count)]
    try:
        yield
    finally:
        for process in idle:
            process.kill()
            process.wait()


def test_without_an_image_it_says_what_to_do(tmp_path: Path) -> None:
    settings = sandbox_settings(tmp_path, backend="bubblewrap")
    backend = BubblewrapBackend(settings.model_copy(update={"images_folder": tmp_path / "images"}))
    with pytest.raises(SandboxError, match="--as-folder") as caught:
        backend.start(BoxSpec("cpu"))
    assert caught.value.verdict == Verdict.IMAGE_MISSING


def test_the_filter_is_a_program() -> None:
    program = compile_profile()
    assert len(program) % 8 == 0
    assert 100 < len(program) // 8 < 4096  # the kernel's limit

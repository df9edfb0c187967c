"""What a worker leaves behind when it is killed is ended, and nothing else is."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import docker
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.interface import BoxSpec
from anyshot_worker.sandbox.janitor import sweep
from tests.worker.sandbox.conftest import SMALL, StartBox
from tests.worker.sandbox.machine import nobody_answers

WORKER = """
import sys, time
from pathlib import Path
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.interface import BoxSpec
from anyshot_worker.sandbox.settings import SandboxSettings
from anyshot_core.wire.worker_api import Limits
settings = SandboxSettings.model_validate_json(sys.argv[1])
limits = Limits(memory_bytes=256 << 20, processes=64, scratch_bytes=32 << 20)
box = DockerBackend(settings).start(BoxSpec("cpu", limits, ("-c", "import time; time.sleep(600)")))
print(box.id, flush=True)
time.sleep(600)
"""


def test_killed_worker_leaves_nothing(docker_backend: DockerBackend, start_box: StartBox) -> None:
    settings = docker_backend.settings
    ours = start_box("import time; time.sleep(600)")
    command = [sys.executable, "-c", WORKER, settings.model_dump_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as worker:
        assert worker.stdout is not None
        orphan = worker.stdout.readline().strip()
        assert set(docker_backend.own_containers()) == {ours.id, orphan}
        assert sweep(settings, docker_backend).containers == []
        worker.send_signal(signal.SIGKILL)
        worker.wait(60)
    assert orphan in docker_backend.own_containers()
    swept = sweep(settings, docker_backend)
    assert swept.containers == [orphan]
    assert swept.folders == [orphan]
    assert not (settings.state_folder / "boxes" / orphan).exists()
    assert not Path(f"/dev/shm/anyshot-{orphan}").exists()
    assert set(docker_backend.own_containers()) == {ours.id}
    assert ours.alive()


def test_sweeping_twice_finds_nothing(docker_backend: DockerBackend) -> None:
    sweep(docker_backend.settings, docker_backend)
    swept = sweep(docker_backend.settings, docker_backend)
    assert (swept.containers, swept.folders) == ([], [])


def test_containers_of_others_are_left_alone(docker_backend: DockerBackend, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    other = docker_backend.settings.model_copy(update={"state_folder": tmp_path_factory.mktemp("other")})
    backend = DockerBackend(other)
    box = backend.start(BoxSpec("cpu", SMALL, ("-c", "import time; time.sleep(600)")))
    try:
        assert sweep(docker_backend.settings, docker_backend).containers == []
        assert box.alive()
    finally:
        box.close()
        backend.close()


def test_a_box_whose_daemon_went_away_is_nobodys_fault_and_is_left_to_the_janitor(
    docker_backend: DockerBackend,
    start_box: StartBox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # A warning that is kept keeps its error, and that a socket, which a later test would be blamed for.
    caplog.set_level("ERROR", "anyshot_worker.sandbox.docker")
    box = start_box("import time; time.sleep(600)")
    away = docker.APIClient(f"unix://{tmp_path}/nobody.sock", version=docker_backend.client.api_version)
    with nobody_answers():
        monkeypatch.setattr(box, "_client", away)
        death = box.death()
        assert death.lost and death.exit_code is None
        box.close()
        away.close()
    assert box.id in docker_backend.own_containers()
    assert sweep(docker_backend.settings, docker_backend).containers == [box.id]
    assert not docker_backend.own_containers()

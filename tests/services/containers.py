"""The Docker daemon: the one that runs, or one started for the session where we are root."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.services.processes import find_program, wait_until
from tests.services.shared import keep_running, once

GVISOR = (
    Path(__file__).parents[2] / "docker" / "daemon.json"
)  # the daemon's settings with gVisor among its runtimes


def docker_answers() -> bool:
    """Whether a daemon answers on the default address."""
    program = find_program("docker")
    if program is None:
        return False
    asked = subprocess.run([program, "version", "--format", "{{.Server.Version}}"], capture_output=True)
    return asked.returncode == 0 and bool(asked.stdout.strip())


@pytest.fixture(scope="session")
def docker_daemon(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A Docker daemon that answers: this machine's, or one for the run."""
    if reason := once(tmp_path_factory, "docker", _why_no_docker):
        pytest.skip(reason)


def _why_no_docker() -> str:
    """Start a daemon unless one answers; why that cannot be, or nothing."""
    if docker_answers():
        return ""
    program = find_program("dockerd")
    if program is None:
        return "Docker is not installed (Debian: apt-get install docker.io iptables)"
    if os.geteuid() != 0:
        return "no Docker daemon answers, and starting one takes root"
    folder = Path(tempfile.mkdtemp(prefix="anyshot-dockerd-"))
    keep_running([program, "--config-file", str(GVISOR)], folder, folder / "log.txt")
    wait_until(docker_answers, "the Docker daemon")
    return ""


def why_no_gvisor(image: str) -> str:
    """Why no box can be started under gVisor here; empty where one can. `image` is any sandbox image."""
    told = subprocess.run(
        ["docker", "info", "--format", "{{json .Runtimes}}"], capture_output=True, text=True
    )
    if "runsc" not in told.stdout or find_program("runsc") is None:
        return "the daemon has no gVisor (Debian: apt-get install runsc, then dockerd --config-file docker/daemon.json)"
    command = ["docker", "run", "--rm", "--runtime", "runsc", "--network", "none", image, "-c", "print('up')"]
    tried = subprocess.run(command, capture_output=True, text=True)
    return (
        "" if tried.stdout.strip() == "up" else f"gVisor does not start here: {tried.stderr.strip()[-300:]}"
    )

"""The processes of a distributed site, which can be killed, paused and restarted."""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from anyshot_core.command import AS_PROCESS
from benchmarks.servers import Postgres, free_port


class Process:
    """A process with a name, a log and the means to hurt it."""

    def __init__(self, name: str, command: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self.name, self._command, self._environment = name, command, dict(environment)
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, in a session of its own."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def pid(self) -> int:
        """The id of the process that runs."""
        assert self._process is not None  # it was started
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send a signal to the process itself, not to its children."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """`kill -9`: nothing can be tidied up."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(20)

    def stop(self) -> None:
        """SIGTERM, and SIGKILL after a while."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        if self._process is not None:
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def log_tail(self, lines: int = 15) -> str:
        """The end of its log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])


def clean_environment() -> dict[str, str]:
    """This process's environment without settings of Anyshot."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ANYSHOT_")}


def redis(folder: Path) -> tuple[Process, str]:
    """A Redis server without persistence, and its address."""
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    return Process("redis", command, clean_environment(), folder), f"redis://127.0.0.1:{port}/0"


def platform_settings(home: Path, database: Postgres, broker: str, **more: str) -> dict[str, str]:
    """The environment of the platform's processes."""
    port = free_port()
    return {
        "ANYSHOT_SECRET_KEY": secrets.token_urlsafe(32),
        "ANYSHOT_HOME": str(home),
        "ANYSHOT_DATABASE_URL": database.url,
        "ANYSHOT_BROKER_URL": broker,
        "ANYSHOT_PORT": str(port),
        "ANYSHOT_BASE_URL": f"http://127.0.0.1:{port}",
        "ANYSHOT_BUDGET_LIMITS": '{"uploads": 0, "log_ins": 0, "checks": 0}',
        "ANYSHOT_LOG_FORMAT": "text",
        # Every second attempt is struck here; with the usual three, chance alone would give one run in twelve up.
        "ANYSHOT_INFRASTRUCTURE_ATTEMPTS": "12",
        **more,
    }


def web(home: Path, settings: Mapping[str, str]) -> Process:
    """The web service with its sweeper."""
    return Process("web", [*AS_PROCESS, "admin", "serve"], {**clean_environment(), **settings}, home)


def state_folder(home: Path) -> Path:
    """Where the workers of a site keep slots and boxes."""
    return home / "state"


def owner(home: Path) -> str:
    """The label of all containers of a site's workers."""
    return f"chaos-{home.name}"


def dockerd(folder: Path) -> tuple[Process, str]:
    """A Docker daemon of one's own and its address: restarting it harms nobody else.

    It lives in a network namespace of its own, since a daemon without a bridge takes the usual one's bridge away.
    """
    own = folder / "dockerd"
    own.mkdir()
    address = f"unix://{own}/docker.sock"
    options = {"data-root": "data", "exec-root": "run", "pidfile": "pid"}
    command = ["unshare", "--net", "dockerd", "--host", address, "--bridge", "none", "--iptables=false"]
    command += [f"--{option}={own / place}" for option, place in options.items()]
    return Process("dockerd", command, clean_environment(), folder), address


def wait_for_docker(address: str, process: Process, seconds: float = 60.0) -> None:
    """Return when the daemon answers; raises `RuntimeError` with its log."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if subprocess.run(["docker", "--host", address, "version"], capture_output=True).returncode == 0:
            return
        time.sleep(0.3)
    raise RuntimeError(f"the Docker daemon did not start:\n{process.log_tail()}")


def copy_image(address: str, name: str = "anyshot/sandbox:cpu") -> None:
    """Give another daemon an image that the usual one has."""
    with subprocess.Popen(["docker", "save", name], stdout=subprocess.PIPE) as saved:
        command = ["docker", "--host", address, "load", "--quiet"]
        subprocess.run(command, stdin=saved.stdout, check=True, stdout=subprocess.DEVNULL)


def worker(
    home: Path,
    name: str,
    settings: Mapping[str, str],
    token: str,
    sandbox: str,
    docker_host: str | None = None,
) -> Process:
    """A worker; those of one site are on one machine, so they share the folder of slots and locks."""
    own = {
        "ANYSHOT_PLATFORM_URL": settings["ANYSHOT_BASE_URL"],
        "ANYSHOT_BROKER_URL": settings["ANYSHOT_BROKER_URL"],
        "ANYSHOT_WORKER_TOKEN": token,
        "ANYSHOT_WORKER_NAME": name,
        "ANYSHOT_WORKSPACE": str(home / name / "workspace"),
        "ANYSHOT_STATE_FOLDER": str(state_folder(home)),
        "ANYSHOT_SANDBOX": sandbox,
        "ANYSHOT_OWNER": owner(home),
        "OMP_NUM_THREADS": "1",
        **({"ANYSHOT_DOCKER_HOST": docker_host} if docker_host else {}),
    }
    return Process(name, [*AS_PROCESS, "worker", "run"], clean_environment() | own, home)


def wait_for_web(address: str, process: Process, seconds: float = 120.0) -> None:
    """Return when the web service is ready; raises `RuntimeError` with its log."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{address}/ready", timeout=5.0).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.3)
    raise RuntimeError(f"the web service did not start:\n{process.log_tail()}")

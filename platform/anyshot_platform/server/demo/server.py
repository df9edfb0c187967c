"""The embedded set-up as a child process: web service, sweeper and one worker."""

import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from anyshot_core.command import AS_PROCESS
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.server.serving import WORKER_ENDED, free_port

BUBBLEWRAP_NEEDS = {"bubblewrap": "bwrap", "mmdebstrap": "mmdebstrap"}  # package: its command
WORKER_CHANCES = 3


class ServerDown(Exception):
    """The server did not come up, or went away."""


@dataclass(frozen=True)
class Sandbox:
    """What keeps the submissions in: the worker's word for it, and a sentence for the reader."""

    name: str
    sentence: str


SANDBOXES = {
    "docker": Sandbox("docker", "Submissions run in Docker containers without a network."),
    "bubblewrap": Sandbox("bubblewrap", "Submissions run in Bubblewrap, which promises less than Docker."),
    "trusted": Sandbox(
        "trusted",
        "The demo's own three submissions run WITHOUT A SANDBOX, as trusted code; every other upload is refused.",
    ),
}


def choose_sandbox() -> Sandbox:
    """Docker where its daemon answers, else Bubblewrap, else none."""
    if docker_answers():
        return SANDBOXES["docker"]
    lacking = [package for package, command in BUBBLEWRAP_NEEDS.items() if not shutil.which(command)]
    chosen, why = SANDBOXES["bubblewrap"], "No Docker daemon answers."
    if lacking:
        chosen = SANDBOXES["trusted"]
        why = f"No Docker daemon answers, and Bubblewrap lacks {' and '.join(lacking)} (Debian's packages)."
    return Sandbox(chosen.name, f"{why} {chosen.sentence}")


def docker_answers(seconds: float = 120) -> bool:
    """Whether there is a Docker daemon that answers in time."""
    docker = shutil.which("docker")
    if docker is None:
        return False
    try:
        return subprocess.run([docker, "version"], capture_output=True, timeout=seconds).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def prepare_sandbox(sandbox: Sandbox) -> None:
    """Build what submissions run in, unless it is there (a minute or two), and prove that it holds.

    Raises `ServerDown` if either fails.
    """
    if sandbox.name == "trusted":
        return
    worker = [*AS_PROCESS, "worker"]
    as_folder = ["--as-folder"] if sandbox.name == "bubblewrap" else []
    if subprocess.run([*worker, "image", "build", *as_folder]).returncode != 0:
        raise ServerDown("the sandbox image could not be built; the lines above say why")
    own = os.environ | {"ANYSHOT_SANDBOX": sandbox.name}
    doctor = subprocess.run([*worker, "doctor"], env=own, capture_output=True, text=True)
    if doctor.returncode != 0:
        raise ServerDown(f"the sandbox does not hold on this machine:\n{doctor.stdout}{doctor.stderr}")


def make_settings(home: Path, port: int | None, trusted: list[str] | None) -> PlatformSettings:
    """Settings of a site of its own below `home`, on loopback."""
    chosen = port or free_port("127.0.0.1")
    return PlatformSettings(
        secret_key=secrets.token_urlsafe(32),  # pyright: ignore[reportArgumentType] - pydantic wraps it
        home=home,
        host="127.0.0.1",
        port=chosen,
        base_url=f"http://127.0.0.1:{chosen}",
        trusted_digests=tuple(trusted) if trusted is not None else None,
        log_format="text",
    )


def environment(settings: PlatformSettings, sandbox: Sandbox) -> dict[str, str]:
    """What the server and its worker read; nothing of an `ANYSHOT_...` of the caller gets through."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("ANYSHOT_")}
    made = {
        "ANYSHOT_SECRET_KEY": settings.secret_key.get_secret_value(),
        "ANYSHOT_HOME": str(settings.home),
        "ANYSHOT_HOST": settings.host,
        "ANYSHOT_PORT": str(settings.port),
        "ANYSHOT_BASE_URL": settings.base_url,
        "ANYSHOT_LOG_FORMAT": "text",
        "ANYSHOT_SANDBOX": sandbox.name,
    }
    if settings.trusted_digests is not None:
        made["ANYSHOT_TRUSTED_DIGESTS"] = json.dumps(settings.trusted_digests)
        made["ANYSHOT_TRUST_ALL_SUBMISSIONS"] = "true"
    return own | made


@dataclass(frozen=True)
class Server:
    """The demo's site, as a process of its own."""

    address: str
    log: Path
    process: subprocess.Popen[bytes]

    def require_up(self) -> None:
        """Raise `ServerDown` with the end of its log when the process is gone, or its worker ends again and again."""
        lines = self.log.read_text(errors="replace").splitlines()
        tail = "\n".join(lines[-20:])
        if self.process.poll() is not None:
            raise ServerDown(f"the server ended with status {self.process.returncode}:\n{tail}")
        if sum(WORKER_ENDED in line for line in lines) >= WORKER_CHANCES:
            raise ServerDown(f"the worker ended {WORKER_CHANCES} times:\n{tail}")


@contextmanager
def serving(settings: PlatformSettings, sandbox: Sandbox) -> Iterator[Server]:
    """Run `anyshot admin serve --embedded` until the block is left."""
    log = settings.home / "server.log"
    command = [*AS_PROCESS, "admin", "serve", "--embedded", "--home", str(settings.home)]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=environment(settings, sandbox), stdout=out, stderr=subprocess.STDOUT
        )
    server = Server(settings.base_url, log, process)
    try:
        wait_until_healthy(server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_healthy(server: Server, seconds: float = 180.0) -> None:
    """Return when the server answers; raises `ServerDown` when it does not, or is gone."""
    deadline = time.monotonic() + seconds
    while True:
        server.require_up()
        try:
            if httpx.get(f"{server.address}/health", timeout=2.0).is_success:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > deadline:
            raise ServerDown(f"the server did not answer within {seconds:.0f} s; its log is {server.log}")
        time.sleep(0.2)

"""Start a server for the test session and stop it afterwards."""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    """A TCP port on loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find_program(*names: str) -> str | None:
    """The first of the programs that is on the PATH or in one of Debian's PostgreSQL folders."""
    folders = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
        Path("/usr/sbin"),
        Path("/usr/bin"),
    ]
    path = os.pathsep.join([os.environ.get("PATH", ""), *map(str, folders)])
    return next((found for name in names if (found := shutil.which(name, path=path))), None)


def wait_until(ready: Callable[[], bool], what: str, seconds: float = 180.0) -> None:
    """Poll `ready` until it is true; RuntimeError names `what` when it never is."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} did not come up within {seconds:.0f} s")
        time.sleep(0.05)


def accepts(port: int) -> bool:
    """Whether something listens on this port of loopback."""
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def unprivileged_user() -> str | None:
    """Servers such as PostgreSQL refuse to run as root: the user to run them as then."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise RuntimeError("no unprivileged user to run PostgreSQL as")


@contextmanager
def running(
    command: list[str], log: Path, user: str | None = None, env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in the background; it is terminated, then killed, on the way out."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            user=user,
            env=env,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)

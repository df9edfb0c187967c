"""A PostgreSQL server of a benchmark's own, with its durability on, where PostgreSQL is installed."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def find_postgres() -> Path | None:
    """The folder of PostgreSQL's programs."""
    found = shutil.which("postgres")
    places = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return places[-1] if places else None


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Postgres:
    """One server in a folder; can be restarted."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs, self.port = folder, programs, free_port()
        self._user = "postgres" if os.geteuid() == 0 and _has_user("postgres") else None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of its only database."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def pid(self) -> int:
        """The id of the server's first process."""
        assert self._process is not None  # it was started
        return self._process.pid

    def create(self) -> None:
        """Make the cluster."""
        if self._user:
            shutil.chown(self.folder, self._user)
        command = [self.programs / "initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust"]
        subprocess.run(command, user=self._user, check=True, capture_output=True, cwd=self.folder)

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [self.programs / "postgres", "-D", self.folder / "data", "-p", str(self.port)]
        options = ["-k", self.folder, "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"]
        log = (Path(tempfile.gettempdir()) / f"{self.folder.name}.log").open("ab")
        self._process = subprocess.Popen(
            [*command, *options], user=self._user, stdout=log, stderr=log, cwd=self.folder
        )
        log.close()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            asked = subprocess.run(
                [self.programs / "pg_isready", "-h", "127.0.0.1", "-p", str(self.port)], capture_output=True
            )
            if asked.returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError("PostgreSQL did not start.")

    def stop(self) -> None:
        """Stop at once, dropping connections (a fast shutdown)."""
        if self._process is not None:
            self._process.send_signal(2)
            self._process.wait(30)
            self._process = None

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@contextmanager
def postgres() -> Iterator[Postgres | None]:
    """A running server, or None where PostgreSQL is not installed."""
    programs = find_postgres()
    if programs is None:
        print("PostgreSQL is not installed: its figures are left out")
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="anyshot-bench-pg-"))
    server = Postgres(folder, programs)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
        (Path(tempfile.gettempdir()) / f"{folder.name}.log").unlink(missing_ok=True)

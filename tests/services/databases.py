"""PostgreSQL and Redis, started from the programs at hand.

The run has one PostgreSQL, in which each test has a database; each process of the run has a Redis, which tests empty.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.services.processes import accepts, find_program, free_port, running, unprivileged_user, wait_until
from tests.services.shared import keep_running, once


@dataclass(frozen=True)
class PostgresServer:
    """A running server; `url` is that of its maintenance database."""

    host: str
    port: int

    def url(self, database: str = "postgres") -> str:
        """A SQLAlchemy URL for one database of the server."""
        return f"postgresql+psycopg://postgres@{self.host}:{self.port}/{database}"


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """A PostgreSQL server of the run's own, with its durability switched off."""
    initdb, server = find_program("initdb"), find_program("postgres")
    if initdb is None or server is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    port = once(tmp_path_factory, "postgres", lambda: _start_postgres(initdb, server))
    return PostgresServer("127.0.0.1", port)


def _start_postgres(initdb: str, server: str) -> int:
    """Start it and return its port."""
    user, port = unprivileged_user(), free_port()
    folder = Path(tempfile.mkdtemp(prefix="anyshot-pg-"))
    if user is not None:
        shutil.chown(folder, user)
    data = str(folder / "data")
    make = [
        initdb,
        "-D",
        data,
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
    ]
    subprocess.run(make, check=True, capture_output=True, user=user, cwd=folder)
    options = {
        "listen_addresses": "127.0.0.1",
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "max_connections": "400",
    }
    command = [server, "-D", data, "-p", str(port), "-k", str(folder)]
    command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    keep_running(command, folder, folder / "log.txt", user)
    wait_until(lambda: accepts(port) and _answers(port), "PostgreSQL")
    return port


def _answers(port: int) -> bool:
    import psycopg

    try:
        psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=postgres").close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The SQLAlchemy URL of a fresh, empty database, dropped after the test."""
    import psycopg

    name = f"test_{uuid.uuid4().hex[:12]}"
    admin = f"host={postgres_server.host} port={postgres_server.port} user=postgres dbname=postgres"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield postgres_server.url(name)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """URL of a Redis server of our own, without persistence."""
    if url := os.environ.get("ANYSHOT_TEST_REDIS"):
        yield url
        return
    program = find_program("redis-server")
    if program is None:
        pytest.skip("Redis is not installed (Debian: apt-get install redis-server)")
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="anyshot-redis-") as folder:
        command = [
            program,
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            folder,
        ]
        with running(command, Path(folder) / "log.txt"):
            wait_until(lambda: accepts(port), "Redis")
            yield f"redis://127.0.0.1:{port}/0"


@pytest.fixture
def redis_url(redis_server: str) -> str:
    """URL of an emptied Redis database."""
    import redis

    client = redis.Redis.from_url(redis_server)
    client.flushall()
    client.close()
    return redis_server

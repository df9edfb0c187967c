"""PostgreSQL and Redis, started from the programs at hand.

The run has one PostgreSQL, in which each test has a database; each process of the run has a Redis, which tests empty.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

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

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A connection of the server's owner, without transactions."""
        address = f"host={self.host} port={self.port} user=postgres dbname={database}"
        return psycopg.connect(address, autocommit=True)

    def create(self, template: str, prefix: str = "test") -> str:
        """Make a database from a template and return its name."""
        name = f"{prefix}_{uuid.uuid4().hex[:12]}"
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            sql.Identifier(name), sql.Identifier(template)
        )
        with self.connect() as connection:
            connection.execute(made)
        return name

    def drop(self, name: str) -> None:
        """Drop a database, whoever is connected to it."""
        with self.connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def postgres_database(server: PostgresServer, template: str = "template0") -> Iterator[str]:
    """The address of a database that is made from a template, and dropped afterwards."""
    name = server.create(template)
    yield server.url(name)
    server.drop(name)


KEPT = "kept"  # what the names of databases begin with that tests use one after the other
RESTING = "resting"  # the application name of connections that stay open from one test to the next


class KeptDatabases:
    """Copies of databases that tests use one after the other: putting one back costs a fraction of making one.

    `dropped` is told the address of each that is used no longer.
    """

    def __init__(self, server: PostgresServer, exits: ExitStack, dropped: Callable[[str], None]) -> None:
        self._server, self._exits, self._dropped = server, exits, dropped
        self._contents: dict[str, _Content] = {}
        self._free: dict[str, list[_Kept]] = {}

    @contextmanager
    def lend(self, template: str) -> Iterator[str]:
        """The address of a copy of `template` in which nobody has written."""
        free = self._free.setdefault(template, [])
        kept = free.pop() if free else self._make(template)
        yield self._server.url(kept.name)
        back = False
        with suppress(psycopg.OperationalError):  # a test that ends connections ended this one as well
            back = kept.put_back()
        if back:
            free.append(kept)
        else:
            kept.connection.close()
            self._server.drop(kept.name)
            self._dropped(self._server.url(kept.name))

    def _make(self, template: str) -> _Kept:
        if template not in self._contents:
            with self._server.connect(template) as connection:
                self._contents[template] = _Content.read(connection)
        name = self._server.create(template, KEPT)
        connection = self._exits.enter_context(self._server.connect(name))
        return _Kept(name, connection, self._contents[template])


@dataclass(frozen=True)
class _Content:
    """The rows of a database, as the server itself writes them, and where its sequences stand."""

    rows: dict[str, bytes]
    sequences: dict[str, int | None]

    @classmethod
    def read(cls, connection: psycopg.Connection) -> _Content:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows: dict[str, bytes] = {}
        with connection.cursor() as cursor:
            for (name,) in tables:
                with cursor.copy(sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(name))) as copy:
                    rows[name] = b"".join(bytes(part) for part in copy)
        sequences = connection.execute("SELECT sequencename, last_value FROM pg_sequences").fetchall()
        return cls(rows, dict(sequences))

    def write(self, connection: psycopg.Connection) -> None:
        """Take out all rows and put these in: what needs no rows of ours goes to the server in one piece."""
        emptied = [sql.SQL("DELETE FROM {}").format(sql.Identifier(name)) for name in self.rows]
        counted = [
            sql.SQL("SELECT setval({}, {}, {})").format(name, value or 1, value is not None)
            for name, value in self.sequences.items()
        ]
        # A replica checks no foreign keys, and lets go of rows that may not go.
        cleared = sql.SQL("; ").join(
            [sql.SQL("SET LOCAL session_replication_role = replica"), *emptied, *counted]
        )
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(cleared)
            for name, data in self.rows.items():
                if data:
                    with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as copy:
                        copy.write(data)


class _Kept:
    def __init__(self, name: str, connection: psycopg.Connection, content: _Content) -> None:
        self.name, self.connection, self._content = name, connection, content
        self._uses, self._shape = 0, self._measure()

    def put_back(self) -> bool:
        """Whether the next test finds what this one found."""
        self._uses += 1
        if self._uses == _MOST_USES or not self._is_left_alone() or self._measure() != self._shape:
            return False
        self._content.write(self.connection)
        return True

    def _is_left_alone(self) -> bool:
        """A backend ends a moment after its client has hung up; whoever stays may still write."""
        for _ in range(50):
            if not self.connection.execute(_OTHERS).fetchone():
                return True
            time.sleep(0.01)
        return False

    def _measure(self) -> object:
        return self.connection.execute(_SHAPE).fetchone()


_MOST_USES = 100  # rows that were taken out still lie in the files
_OTHERS = f"""
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
AND NOT (application_name = '{RESTING}' AND state = 'idle')
"""
_SHAPE = "SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_attribute WHERE NOT attisdropped)"


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
        "autovacuum": "off",
        "jit": "off",  # compiling takes longer than any statement of a test
    }
    command = [server, "-D", data, "-p", str(port), "-k", str(folder)]
    command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    keep_running(command, folder, folder / "log.txt", user)
    wait_until(lambda: accepts(port) and _answers(port), "PostgreSQL")
    return port


def _answers(port: int) -> bool:
    try:
        psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=postgres").close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The SQLAlchemy URL of a fresh, empty database, dropped after the test."""
    with postgres_database(postgres_server) as url:
        yield url


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

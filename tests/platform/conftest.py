"""A site for each test, on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from anyshot_platform.app import make_services
from anyshot_platform.database import Database
from anyshot_platform.migration import migrate
from anyshot_platform.services import Services
from anyshot_platform.settings import PlatformSettings
from tests.platform.site import Site
from tests.services.databases import PostgresServer
from tests.services.processes import find_program

SECRET = "a secret for tests, forty characters long"


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file, to be copied: migrating takes a second, copying none."""
    path = tmp_path_factory.mktemp("migrated") / "template.sqlite3"
    database = Database(f"sqlite:///{path}")
    migrate(database)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.dispose()
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: PostgresServer) -> str:
    """The name of a migrated PostgreSQL database, to be used as a template."""
    import psycopg
    from psycopg import sql

    name = f"template_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(_admin(postgres_server), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    database = Database(postgres_server.url(name))
    migrate(database)
    database.dispose()
    return name


def _admin(server: PostgresServer) -> str:
    return f"host={server.host} port={server.port} user=postgres dbname=postgres"


def make_settings(home: Path, **changes: object) -> PlatformSettings:
    """Settings of a test's site: quick leases, no limits on log-ins."""
    values = {
        "secret_key": SECRET,
        "home": home,
        "base_url": "http://testserver",
        "budget_limits": dict.fromkeys(("log_ins", "sign_ups", "uploads", "checks", "announcements"), 0),
        "retry_seconds": 0.0,
        "organizers": "everyone",
        **changes,
    }
    return PlatformSettings.model_validate(values)


@pytest.fixture
def sqlite_services(tmp_path: Path, migrated_sqlite: Path) -> Iterator[Services]:
    """Services on a fresh SQLite database."""
    shutil.copy(migrated_sqlite, tmp_path / "anyshot.sqlite3")
    services = make_services(make_settings(tmp_path))
    yield services
    services.database.dispose()


@contextmanager
def postgres_database(server: PostgresServer, template: str = "template0") -> Iterator[str]:
    """The address of a database that is made from a template, and dropped afterwards."""
    import psycopg
    from psycopg import sql

    name = f"test_{uuid.uuid4().hex[:12]}"
    made, dropped = sql.SQL("CREATE DATABASE {} TEMPLATE {}"), sql.SQL("DROP DATABASE {} WITH (FORCE)")
    with psycopg.connect(_admin(server), autocommit=True) as connection:
        connection.execute(made.format(sql.Identifier(name), sql.Identifier(template)))
    yield server.url(name)
    with psycopg.connect(_admin(server), autocommit=True) as connection:
        connection.execute(dropped.format(sql.Identifier(name)))


@pytest.fixture
def postgres_services(
    tmp_path: Path, postgres_server: PostgresServer, migrated_postgres: str
) -> Iterator[Services]:
    """Services on a fresh PostgreSQL database."""
    with postgres_database(postgres_server, migrated_postgres) as url:
        services = make_services(make_settings(tmp_path, database_url=url))
        yield services
        services.database.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without tables, of either kind, to be filled as an earlier release did."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/old.sqlite3"
        return
    with postgres_database(request.getfixturevalue("postgres_server")) as url:
        yield url


def _databases() -> list[ParameterSet]:
    """PostgreSQL for the whole suite, and SQLite for a slice that rotates; `ANYSHOT_TEST_DATABASE` names one alone.

    Where PostgreSQL is not installed all is tested with SQLite.
    """
    alone = os.environ.get("ANYSHOT_TEST_DATABASE") or ("" if find_program("initdb") else "sqlite")
    if alone:
        return [pytest.param(alone)]
    return [
        pytest.param("postgres"),
        pytest.param("sqlite", marks=(pytest.mark.full, pytest.mark.rotating(1))),
    ]


@pytest.fixture(params=_databases())
def services(request: pytest.FixtureRequest) -> Services:
    """Services on a fresh database: a test that takes this holds for either kind."""
    return request.getfixturevalue(f"{request.param}_services")


@pytest.fixture
def site(services: Services) -> Iterator[Site]:
    """A running site with a small competition, on PostgreSQL, and in a slice of the tests on SQLite."""
    with Site(services) as made:
        yield made


@pytest.fixture
def embedded_site(sqlite_services: Services) -> Iterator[Site]:
    """A running site on SQLite."""
    with Site(sqlite_services) as made:
        yield made


@pytest.fixture
def postgres_site(postgres_services: Services) -> Iterator[Site]:
    """A running site on PostgreSQL, which lets transactions run beside one another."""
    with Site(postgres_services) as made:
        yield made

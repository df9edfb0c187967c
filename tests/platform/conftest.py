"""A site for each test: on PostgreSQL, and in a slice of the tests on SQLite."""

import functools
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from sqlalchemy import URL, Engine, event, make_url

from anyshot_platform.app import make_services
from anyshot_platform.foundation import database
from anyshot_platform.foundation.database import Database
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.people.rate_limits import counting
from tests.platform.site import Site, make_small_site
from tests.services.databases import KEPT, RESTING, KeptDatabases, PostgresServer, postgres_database
from tests.services.processes import find_program
from tests.services.shared import once

SECRET = "a secret for tests, forty characters long"


@pytest.fixture(autouse=True)
def windows_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """No window of a limit ends while a test counts in it, however slow the machine is."""
    began = int(time.time())
    monkeypatch.setattr(counting, "seconds_now", lambda: began)


@pytest.fixture(autouse=True)
def files_of_the_next_test_are_anybodys() -> Iterator[None]:
    """A site that runs in this process closes what it writes; sandboxes of later tests are other users."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)


class KeptEngines:
    """One engine for each database of the server: it has compiled most statements before, which is half of a test.

    Those of kept databases keep their connections too, whose backends have read the catalogue.
    """

    def __init__(self, make: Callable[[str, int], Engine]) -> None:
        self._make, self._once = make, functools.lru_cache(maxsize=32)(make)
        self._kept: dict[str, Engine] = {}

    def engine(self, address: str, size: int) -> Engine:
        """What a site's database takes for one of its own."""
        url = make_url(address)
        if url.get_backend_name() == "sqlite":
            return _unordered(self._make(address, size))
        if not _is_kept(url):
            return self._once(address, size)
        if address not in self._kept:
            named = url.update_query_dict({"application_name": RESTING})
            self._kept[address] = self._make(named.render_as_string(hide_password=False), size)
        return self._kept[address]

    def forget(self, address: str) -> None:
        """Close what is left of the connections to a database that is gone."""
        if engine := self._kept.pop(address, None):
            engine.dispose()

    def forget_all(self) -> None:
        """Close them all."""
        for address in list(self._kept):
            self.forget(address)


def _unordered(engine: Engine) -> Engine:
    """Rows that no one ordered come the other way round: PostgreSQL gives them in any order, and only sometimes."""

    @event.listens_for(engine, "connect")
    def reverse(connection: Any, _: object) -> None:
        connection.execute("PRAGMA reverse_unordered_selects=ON")

    return engine


def _is_kept(url: URL) -> bool:
    return (url.database or "").startswith(f"{KEPT}_")


@pytest.fixture(scope="session", autouse=True)
def kept_engines() -> Iterator[KeptEngines]:
    """Engines that outlive their tests; the connections of others end with each test, by `dispose`."""
    engines, dispose = KeptEngines(database._create_engine), Database.dispose
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_create_engine", engines.engine)
        patch.setattr(Database, "dispose", lambda self: None if _is_kept(self.engine.url) else dispose(self))
        yield engines
        engines.forget_all()


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file, to be copied: migrating takes a second, copying none."""
    return Path(
        once(tmp_path_factory, "sqlite", lambda: str(_migrate_sqlite(tmp_path_factory.mktemp("migrated"))))
    )


def _migrate_sqlite(folder: Path) -> Path:
    path = folder / "template.sqlite3"
    template = Database(f"sqlite:///{path}")
    migrate(template)
    settle(template)
    return path


def settle(template: Database) -> None:
    """Close a database that is to be copied; what SQLite has written beside its file goes into it."""
    if template.engine.dialect.name == "sqlite":
        with template.engine.connect() as connection:
            connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    template.dispose()


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a migrated PostgreSQL database, to be used as a template."""
    return once(tmp_path_factory, "migrated", lambda: _migrate_postgres(postgres_server))


def _migrate_postgres(server: PostgresServer) -> str:
    name = server.create("template0")
    template = Database(server.url(name))
    migrate(template)
    template.dispose()
    return name


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


@pytest.fixture(scope="session")
def kept_databases(postgres_server: PostgresServer, kept_engines: KeptEngines) -> Iterator[KeptDatabases]:
    """PostgreSQL databases for this process of the run."""
    with ExitStack() as exits:
        yield KeptDatabases(postgres_server, exits, kept_engines.forget)


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

    `tests/architecture/test_databases.py` lists the tests that are about SQLite itself, or a site as it is installed.
    Where PostgreSQL is not installed all is tested with SQLite.
    """
    alone = os.environ.get("ANYSHOT_TEST_DATABASE") or ("" if find_program("initdb") else "sqlite")
    if alone:
        return [pytest.param(alone)]
    return [
        pytest.param("postgres"),
        pytest.param("sqlite", marks=(pytest.mark.full, pytest.mark.rotating(2))),
    ]


@pytest.fixture(params=_databases())
def database_kind(request: pytest.FixtureRequest) -> str:
    """What the test's sites keep their rows in: a test that takes a site of it holds for either."""
    return request.param


@dataclass
class Databases:
    """Hands out fresh databases of one kind, and drops them at the end."""

    kind: str
    request: pytest.FixtureRequest
    exits: ExitStack

    def new(self, folder: Path, template: str | None = None) -> str:
        """The address of a migrated database, or of a copy of `template` (a file, or the name of one on the server)."""
        template = template or str(self.request.getfixturevalue(f"migrated_{self.kind}"))
        if self.kind == "sqlite":
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(template, folder / "anyshot.sqlite3")
            return f"sqlite:///{folder}/anyshot.sqlite3"
        return self.exits.enter_context(self.request.getfixturevalue("kept_databases").lend(template))

    def services(self, home: Path, template: str | None = None, **settings: object) -> Services:
        """Services of a site in that folder, on a database of its own."""
        url = self.new(home, template)
        services = make_services(make_settings(home, database_url=url, **settings))
        self.exits.callback(services.database.dispose)
        return services

    def small_services(self, home: Path) -> Services:
        """Services of a site that has the small competition already: making it takes more than many a test."""
        factory = self.request.getfixturevalue("tmp_path_factory")
        template, files = once(
            factory, f"small-{self.kind}", lambda: self._make_small(factory.mktemp("small"))
        )
        shutil.copytree(files, home, dirs_exist_ok=True)
        return self.services(home, template)

    def _make_small(self, folder: Path) -> tuple[str, str]:
        """The database to be used as a template, and the folder with the files that its rows speak of."""
        migrated = self.request.getfixturevalue(f"migrated_{self.kind}")
        if self.kind == "sqlite":
            template = shutil.copy(migrated, folder / "template.sqlite3")
            url = f"sqlite:///{template}"
        else:
            server: PostgresServer = self.request.getfixturevalue("postgres_server")
            template = server.create(migrated)
            url = server.url(template)
        made = make_services(make_settings(folder / "home", database_url=url))
        make_small_site(made)
        settle(made.database)
        return str(template), str(folder / "home")


@pytest.fixture
def databases(request: pytest.FixtureRequest, database_kind: str) -> Iterator[Databases]:
    """Where a test with sites of its own gets its databases from."""
    with ExitStack() as exits:
        yield Databases(database_kind, request, exits)


@pytest.fixture
def services(request: pytest.FixtureRequest, databases: Databases, tmp_path: Path) -> Services:
    """Services on a fresh database; for a test that takes `site`, with its competition in it."""
    return (databases.small_services if "site" in request.fixturenames else databases.services)(tmp_path)


@pytest.fixture
def site(services: Services) -> Iterator[Site]:
    """A running site with a small competition."""
    with Site(services) as made:
        yield made


@pytest.fixture
def sqlite_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A running site on SQLite, for a test about its file or its one writer."""
    with ExitStack() as exits, Site(Databases("sqlite", request, exits).services(tmp_path)) as made:
        yield made


@pytest.fixture
def postgres_services(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Services]:
    """Services on PostgreSQL, for a test about its server."""
    with ExitStack() as exits:
        yield Databases("postgres", request, exits).services(tmp_path)


@pytest.fixture
def postgres_site(postgres_services: Services) -> Iterator[Site]:
    """A running site on PostgreSQL, which lets transactions run beside one another."""
    with Site(postgres_services) as made:
        yield made

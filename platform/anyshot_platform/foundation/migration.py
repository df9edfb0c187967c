"""Brings a database to the newest schema; one process at a time."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from anyshot_platform.foundation.database import Database

_LOCK = 0x616E7973686F74  # "anyshot": PostgreSQL's advisory lock that keeps two migrations apart


def migrations_folder() -> Path:
    """Where the migrations lie: package data, which in a checkout is a link to its folder `migrations/`."""
    return (Path(__file__).parents[1] / "_migrations").resolve()


def migrate(database: Database, revision: str = "head") -> None:
    """Upgrade the database to `revision`, in one transaction."""
    with _references_checked_at_the_end(database) as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        command.upgrade(alembic_config(connection), revision)


@contextmanager
def _references_checked_at_the_end(database: Database) -> Iterator[Connection]:
    """A transaction in which SQLite may rebuild a table that other tables refer to.

    To change a column SQLite needs a new table; dropping the old one would break the rows that refer to it, if they
    were looked at before the new one has its name.
    """
    with database.engine.connect() as connection:
        pragma = _sqlite_pragma(connection) if database.is_sqlite else lambda words: []
        pragma("foreign_keys=OFF")  # does nothing once a transaction has begun
        try:
            with connection.begin():
                yield connection
                broken = pragma("foreign_key_check")
                if broken:
                    raise RuntimeError(f"The migration would break references between rows: {broken[:5]}.")
        finally:
            pragma("foreign_keys=ON")


def _sqlite_pragma(connection: Connection) -> Callable[[str], list[Any]]:
    driver: Any = connection.connection.dbapi_connection
    return lambda words: driver.execute(f"PRAGMA {words}").fetchall()


def is_current(database: Database) -> bool:
    """Whether the database is at the newest schema."""
    with database.engine.execution_options(anyshot_read_only=True).connect() as connection:
        # Not by Alembic's context, which logs two lines each time: load balancers ask every few seconds.
        if not inspect(connection).has_table("alembic_version"):
            return False
        return set(connection.scalars(text("SELECT version_num FROM alembic_version"))) == _heads()


@cache
def _heads() -> set[str]:
    """The newest revisions that this release brings."""
    return set(ScriptDirectory(str(migrations_folder())).get_heads())


def alembic_config(connection: Connection) -> Config:
    """Alembic's configuration for a connection; there is no alembic.ini."""
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def write_revision(message: str) -> Path:
    """Write the next numbered revision: what the models have beyond the newest schema."""
    numbers = [
        int(revision.revision) for revision in ScriptDirectory(str(migrations_folder())).walk_revisions()
    ]
    with tempfile.TemporaryDirectory(prefix="anyshot-revision-") as folder:
        database = Database(f"sqlite:///{folder}/newest.sqlite3")
        migrate(database)
        with database.engine.begin() as connection:
            written = command.revision(
                alembic_config(connection),
                message=message,
                rev_id=f"{max(numbers) + 1:04}",
                autogenerate=True,
            )
        database.dispose()
    if written is None or isinstance(written, list):
        raise RuntimeError("Alembic wrote no single revision.")
    return Path(written.path)

"""Connections and sessions: what looks cannot write, and what the server closed is not used."""

import sqlite3
from datetime import datetime

import psycopg
import pytest
from sqlalchemy import column, select, table, update
from sqlalchemy.exc import DBAPIError, StatementError

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import Database, ReadsOnly
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.users.models import User
from tests.platform.site import Site
from tests.services.processes import wait_until


def test_what_no_column_can_hold_is_refused_before_the_database_sees_it(site: Site) -> None:
    """On both kinds: a moment without a time zone, a number beyond a column."""
    with site.services.database.reading() as session:
        phase = session.get_one(Phase, site.phase_id)
        phase.starts_at = datetime(2026, 1, 1)
        with pytest.raises(StatementError, match="a moment needs a time zone"):
            session.flush()
        session.rollback()
        session.get_one(Phase, site.phase_id).position = 2**40
        with pytest.raises(Invalid, match="The number for “position” is too large: at most 2,147,483,647"):
            session.flush()


def test_a_session_for_looking_writes_nothing(site: Site) -> None:
    changed = update(User).values(display_name="changed")
    with site.services.database.glancing() as session:
        user = session.scalars(select(User)).one()
        with pytest.raises(ReadsOnly):
            session.execute(changed)
        user.display_name = "changed"
        with pytest.raises(ReadsOnly):
            session.flush()
    with site.services.database.glancing() as session:
        assert session.scalars(select(User.display_name)).one() != "changed"


def test_connections_that_the_server_closed_are_not_used(postgres_services: Services) -> None:
    database = postgres_services.database
    with database.reading() as session:
        session.execute(select(1))
    address = database.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(f"SELECT pg_terminate_backend(pid) {others}")
        wait_until(lambda: admin.execute(f"SELECT pid {others}").fetchone() is None, "the end of connections")
    for look in (database.reading, database.glancing, database.writing):
        with look() as session:
            assert session.scalar(select(1)) == 1


def test_a_connection_in_use_at_the_end_is_closed_when_it_comes_back(empty_database: str) -> None:
    database = Database(empty_database)
    with database.reading() as session:
        mine = session.connection().connection.driver_connection
        database.dispose()
        assert session.scalar(select(1)) == 1
    assert mine is not None
    with pytest.raises((psycopg.OperationalError, sqlite3.ProgrammingError), match="closed"):
        mine.execute("SELECT 1")
    again = None
    for _ in range(2):
        with database.reading() as session:
            again = session.connection().connection.driver_connection
    assert again is not None and again.execute("SELECT 1")
    database.dispose()


def test_what_is_said_of_a_failed_statement_holds_no_values(empty_database: str) -> None:
    """It goes into the log, and into the last error of a loop."""
    database = Database(empty_database)
    wanted = select(column("digest")).select_from(table("missing")).where(column("digest") == "a secret")
    with pytest.raises(DBAPIError) as failed, database.reading() as session:
        session.execute(wanted)
    database.dispose()
    assert "missing" in str(failed.value) and "a secret" not in str(failed.value)

"""Tests run on PostgreSQL, and a slice of them on SQLite; those that are about SQLite say why."""

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from anyshot_platform.foundation import database
from tests.platform import conftest
from tests.services.test_services import kept_of

TESTS = Path(__file__).parents[1]
OF_SQLITE = re.compile(
    r"sqlite_site|sqlite:///|sqlite3\.connect|migrated_sqlite|\bmake_settings\([^)]*None, None\)"
)
ON_SQLITE = {
    "architecture/test_databases.py": "this list",
    "contract/conftest.py": "passes the fixtures on",
    "end_to_end/site.py": "gives the embedded settings a PostgreSQL",
    "end_to_end/test_live_log_and_cancel.py": "the demo, as it is installed",
    "end_to_end/test_upload_to_leaderboard.py": "the site as it is installed, beside the distributed one",
    "packages/test_first_row.py": "the site as it is installed from the wheels",
    "platform/admin/test_commands.py": "where the commands put the file",
    "platform/admin/test_release_upgrade.py": "starts two releases one after the other on the embedded site",
    "platform/conftest.py": "makes both",
    "platform/core/test_hashing.py": "its one writer's lock",
    "platform/core/test_operations.py": "the log that lies beside its file",
    "platform/core/test_second_factor.py": "the bytes of its file",
    "platform/web/conftest.py": "makes both",
    "starting_kit/cli/conftest.py": "passes the fixtures on",
}


def test_whoever_runs_on_sqlite_says_why() -> None:
    found = {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if "mutants" not in path.parts and OF_SQLITE.search(path.read_text())
    }
    assert found == set(ON_SQLITE)


def test_sqlite_gives_rows_that_nobody_ordered_the_other_way_round(tmp_path: Path) -> None:
    """So a test or a query that needs an order, and asks for none, fails each time and not one run in a hundred."""
    engine = conftest.KeptEngines(database._create_engine).engine(f"sqlite:///{tmp_path}/rows.sqlite3", 1)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE numbers AS VALUES (1), (2), (3)")
        for order, expected in (("", [3, 2, 1]), (" ORDER BY 1", [1, 2, 3])):
            rows = connection.exec_driver_sql(f"SELECT * FROM numbers{order}")
            assert list(rows.scalars()) == expected
    engine.dispose()


@pytest.mark.skipif("ANYSHOT_TEST_DATABASE" in os.environ, reason="one kind of database was asked for")
def test_sites_are_on_postgresql_and_a_slice_on_sqlite() -> None:
    """Of a hundred tests on SQLite each landing runs some, twice as many as slices all, `make test-all` all at once."""
    postgres, sqlite = conftest._databases()
    assert (postgres.values, postgres.marks, sqlite.values) == (("postgres",), (), ("sqlite",))
    marks = {mark.name: mark for mark in sqlite.marks}

    def run(rotate: str) -> set[str]:
        items = [
            SimpleNamespace(
                nodeid=f"test_x.py::test_{number}[sqlite]",
                iter_markers=lambda name: [marks[name]] if name in marks else [],
                get_closest_marker=marks.get,
            )
            for number in range(100)
        ]
        return {item.nodeid for item in kept_of(items, rotate)}

    assert len(run("all")) == 100
    slices = [run(f"{number}/8") for number in range(16)]
    assert all(0 < len(part) < 25 for part in slices)
    assert set().union(*slices) == run("all")

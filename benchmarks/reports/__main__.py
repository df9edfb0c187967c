"""Seconds from an organizer's request to the page of a report on a whole board: 30 submissions, three runs each of
6,000 tasks, 10,000 bootstrap replicates, computed by a worker's own code from the platform's files.

Once on SQLite and, where it is installed, once on PostgreSQL.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from anyshot_platform.app import make_services
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.foundation.services import Services
from benchmarks.figures import Figure, figure, keep
from benchmarks.servers import Postgres, find_postgres
from tests.platform.admin.results import finish_with_results, work_off
from tests.platform.conftest import make_settings
from tests.platform.site import SLUG, Site

API = f"/api/v1/competitions/{SLUG}/manage/reports"
TARGET = 60.0  # seconds


def main() -> None:
    """Measure, one figure a database."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--submissions", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=6000)
    options = parser.parse_args()
    figures = []
    for name, services in databases():
        with services as ready, tempfile.TemporaryDirectory() as folder:
            figures.append(measure(name, ready, Path(folder), options.submissions, options.tasks))
    keep("reports", figures, f"{options.submissions} submissions, 3 runs, {options.tasks} tasks")


def databases() -> Iterator[tuple[str, AbstractContextManager[Services]]]:
    """Services on each database that is there."""
    yield "sqlite", services_on(None)
    if (programs := find_postgres()) is not None:
        yield "postgresql", services_on(programs)


@contextmanager
def services_on(programs: Path | None) -> Iterator[Services]:
    """Services with a migrated database in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        folder, server = Path(name), None
        changes = {}
        if programs is not None:
            (folder / "postgres").mkdir()
            folder.chmod(0o755)
            server = Postgres(folder / "postgres", programs)
            server.create()
            server.start()
            changes = {"database_url": server.url}
        services = make_services(make_settings(folder / "home", **changes))
        try:
            migrate(services.database)
            yield services
        finally:
            services.database.dispose()
            if server is not None:
                server.stop()


def measure(name: str, services: Services, folder: Path, submissions: int, tasks: int) -> Figure:
    """Fill a board, ask for the report on it, let a worker compute it, and read its page."""
    with Site(services) as site:
        worker = site.worker()
        site.set_version(tasks=tasks, train_seeds=[1, 2, 3], test_seeds=[1, 2, 3])
        for place in range(submissions):
            assert site.member(f"team{place:02}").submit().status_code == 201
            for run in range(3):
                finish_with_results(worker, 0.2 + 0.6 * place / submissions, seed=10 * place + run)
        owner = site.owner()
        began = time.perf_counter()
        wish = {
            "analysis": "flips",
            "phase": "feedback",
            "league": "free",
            "settings": {"entries": submissions},
        }
        asked = owner.call("POST", API, json=wish)
        assert asked.is_success, asked.text
        assert work_off(site, folder) == 1
        found = owner.call("GET", f"{API}/{asked.json()['id']}").json()
        assert found["state"] == "finished", found
        page = owner.call(
            "GET", f"/competitions/{SLUG}/manage/reports/{found['id']}", headers={"accept": "text/html"}
        )
        assert page.status_code == 200 and len(found["result"]["result"]["keys"]) == submissions
        seconds = time.perf_counter() - began
    return figure(f"report_on_a_board_{name}", round(seconds, 2), "s", f"<= {TARGET:g}", seconds <= TARGET)


if __name__ == "__main__":
    main()

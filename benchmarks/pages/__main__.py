"""Seconds to answer for a leaderboard of 10,000 rows, in every order, and for a submission's page."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from fastapi.testclient import TestClient

from anyshot_platform.app import create_app, make_services
from anyshot_platform.migration import migrate
from anyshot_platform.users.service import begin_session
from anyshot_platform.web.viewer import SESSION_COOKIE
from benchmarks.figures import figure
from tests.platform.conftest import make_settings
from tests.platform.web.scene import make_scene
from tests.platform.web.test_pages import fill_board

ROWS = 10_000
TARGET = 0.2  # seconds
ORDERS = {
    "ranking": "",
    "search": "&q=Team+77",
    "by_score": "&sort=-score",
    "by_dataset": "&sort=d:Dataset+3",
}


def main() -> None:
    """Measure, one figure a page: the median of five answers."""
    with tempfile.TemporaryDirectory() as folder:
        services = make_services(make_settings(Path(folder)))
        migrate(services.database)
        with services.database.writing() as session:
            scene = make_scene(session, services.storage)
            fill_board(session, scene, ROWS)
            secret = begin_session(session, scene.ada, user_agent="benchmark", days=1).secret
        with TestClient(create_app(services.settings, services)) as client:
            client.cookies.set(SESSION_COOKIE, secret)
            board = f"/competitions/{scene.competition.slug}/leaderboard?league=free-style"
            for name, query in ORDERS.items():
                _measure(client, f"leaderboard_10000_{name}", board + query)
            _measure(client, "submission_with_results", f"/submissions/{scene.submissions['finished'].id}")
            _measure(client, "my_submissions", "/submissions")
        services.database.dispose()


def _measure(client: TestClient, name: str, path: str) -> None:
    def once() -> float:
        began = time.perf_counter()
        answer = client.get(path, headers={"accept": "text/html"})
        assert answer.status_code == 200, answer.text[:200]
        return time.perf_counter() - began

    once()  # charts are drawn once and kept
    seconds = statistics.median(once() for _ in range(5))
    figure(name, round(seconds, 4), "s", f"<= {TARGET}", seconds <= TARGET)


if __name__ == "__main__":
    main()

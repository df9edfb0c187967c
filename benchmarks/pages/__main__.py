"""Seconds to answer for a leaderboard of 10,000 rows and for submissions' pages; how late the live log is.

The second part needs Chromium and a sandbox, and is left out with `--no-browser`: a submission prints 100 lines a
second; each line tells when it was printed, and the page when it had it. Then it is cancelled, and the time is taken
until the worker has started the next submission.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from fastapi.testclient import TestClient

from anyshot_core.data.pack import pack_dataset
from anyshot_core.demo_data import make_demo_data
from anyshot_platform.app import create_app, make_services
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.server.demo import server as demo
from anyshot_platform.server.demo.organizer import set_the_stage
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from benchmarks.figures import Figure, figure, keep
from tests.end_to_end.site import small_data
from tests.end_to_end.watching import talker, watch_and_cancel
from tests.platform.conftest import make_settings
from tests.platform.web.scene import make_scene
from tests.platform.web.test_pages import fill_board
from tests.services.browsers import chromium
from tests.services.material import TEST, TRAIN

ROWS = 10_000
TARGET = 0.2  # seconds
RATE = 100  # log lines a second
ORDERS = {
    "ranking": "",
    "page_150": "&page=150",
    "search": "&q=Team+77",
    "by_score": "&sort=-score",
    "by_dataset": "&sort=d:Dataset+3",
}


def main() -> None:
    """Measure, one figure a page: the median of five answers; then the live log."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args()
    figures = measure_pages()
    if not options.no_browser:
        figures += measure_live()
    keep("pages", figures, "SQLite; embedded worker; one browser")


def measure_pages() -> list[Figure]:
    """Answers of the web application, without a network between."""
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
            own = scene.submissions["finished"].id
            paths = {f"leaderboard_10000_{name}": board + query for name, query in ORDERS.items()}
            paths |= {"submission_with_results": f"/submissions/{own}", "my_submissions": "/submissions"}
            figures = [_measure(client, name, path) for name, path in paths.items()]
        services.database.dispose()
    return figures


def measure_live() -> list[Figure]:
    """The live page of a real run in Chromium, with an embedded worker and a real sandbox."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, chromium() as browser:
        folder = Path(name)
        datasets = TRAIN + TEST
        made = make_demo_data(folder / "data", classes=8, images=30, datasets=datasets)
        packs = {one: pack_dataset(made / one, folder).path for one in datasets}
        settings = demo.make_settings(folder / "home", None, None)
        services = make_services(settings)
        migrate(services.database)
        stage = set_the_stage(services, small_data(packs), tasks=8, budget_seconds=400)
        services.database.dispose()
        sandbox = demo.choose_sandbox()
        demo.prepare_sandbox(sandbox)
        with demo.serving(settings, sandbox) as server:
            bundle = talker(folder, RATE)
            seen = watch_and_cancel(browser, server, settings, stage, bundle, lines=RATE * 15)
    late = sorted(seen.lags)
    slow = late[int(0.99 * len(late))]
    return [
        figure("live_log_lines_lost", float(not seen.complete), "", "0", seen.complete),
        figure("live_log_lag_median", late[len(late) // 2], "s"),
        figure("live_log_lag_99_percent", slow, "s", "<= 0.5", slow <= 0.5),
        figure("live_log_lag_most", late[-1], "s"),
        figure("cancel_until_the_next_run_starts", seen.freed, "s", "<= 5", seen.freed <= 5),
    ]


def _measure(client: TestClient, name: str, path: str) -> Figure:
    def once() -> float:
        began = time.perf_counter()
        answer = client.get(path, headers={"accept": "text/html"})
        assert answer.status_code == 200, answer.text[:200]
        return time.perf_counter() - began

    once()  # charts are drawn once and kept
    seconds = statistics.median(once() for _ in range(5))
    return figure(name, round(seconds, 4), "s", f"<= {TARGET}", seconds <= TARGET)


if __name__ == "__main__":
    main()

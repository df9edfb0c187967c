"""From an upload over HTTP to the row on the leaderboard page, in both set-ups, seen in a real browser."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from anyshot_platform.app import make_services
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.server.demo.organizer import DemoCompetition, set_the_stage
from anyshot_platform.server.demo.participants import Entrant, Participant, entering, follow
from anyshot_platform.server.demo.server import Server, make_settings, serving
from tests.end_to_end.site import distributed, ready_sandbox, small_data
from tests.services.material import BASELINES, zip_folder

pytestmark = pytest.mark.timeout(1500)  # more than all waits together
TASKS, BUDGET = 8, 60.0


def entrant(name: str, baseline: str, folder: Path) -> Entrant:
    return Entrant(name, baseline, zip_folder(BASELINES / baseline, folder / f"{baseline}.zip"))


def rows_on_the_page(browser: Chrome, server: Server, stage: DemoCompetition) -> list[str]:
    browser.get(f"{server.address}/competitions/{stage.competition}/leaderboard")
    texts = [row.text for row in browser.find_elements(By.CSS_SELECTOR, "#board tbody tr")]
    return [text.replace("\N{MINUS SIGN}", "-") for text in texts if text]  # tables behind charts are folded


def processes_of(home: Path) -> list[str]:
    """Command lines of the processes that work for the site at `home`."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("ANYSHOT_HOME") == str(home):
                found.append(" ".join(process.cmdline()))
        except psutil.Error:  # gone meanwhile, or somebody else's
            continue
    return found


def ignore(participant: Participant, seen: dict[str, Any]) -> None:
    del participant, seen


@pytest.mark.slow("the main journey: a site, a worker, a browser", each_time=True)
def test_embedded(browser: Chrome, demo_packs: dict[str, Path], tmp_path: Path) -> None:
    sandbox = ready_sandbox()
    settings = make_settings(tmp_path, None, None)
    services = make_services(settings)
    migrate(services.database)
    stage = set_the_stage(services, small_data(demo_packs), tasks=TASKS, budget_seconds=BUDGET)
    services.database.dispose()
    entrants = [entrant("ada", "random", tmp_path), entrant("grace", "nearest_prototype", tmp_path)]
    with serving(settings, sandbox) as server, entering(server.address, stage, entrants) as participants:
        follow(participants, ignore, server.require_up, seconds=400)
        board = participants[0].leaderboard("free-style")
        assert [row["team"] for row in board] == ["grace", "ada"]
        shown = rows_on_the_page(browser, server, stage)
        assert len(shown) == 2
        for row, text in zip(board, shown, strict=True):
            assert row["team"] in text and f"{row['score']:.3f}" in text
        run = participants[1].look()["runs"][0]
        assert run["usage"]["platform_seconds"], "what the run cost beside the participant's own code"
        page = f"{server.address}/submissions/{participants[1].submission}"
        browser.get(page)
        assert "sign" in browser.page_source.lower(), "somebody else's submission is not shown to a visitor"
    assert processes_of(tmp_path) == [], "the server that was stopped left something behind"


@pytest.mark.slow("two workers in containers, of which one dies")
@pytest.mark.usefixtures("docker_daemon")
def test_distributed_survives_the_death_of_a_worker(
    browser: Chrome, demo_packs: dict[str, Path], tmp_path: Path, postgres_url: str, redis_url: str
) -> None:
    entrants = [entrant("emmy", "prototypical_networks", tmp_path)]
    with distributed(tmp_path, demo_packs, postgres_url, redis_url, tasks=TASKS, budget=BUDGET) as site:
        with entering(site.server.address, site.stage, entrants) as (participant,):
            with site.worker("first") as first:
                wait_for_stage(participant, "meta_training")
                os.killpg(first.pid, signal.SIGKILL)
            with site.worker("second"):
                wait_for_attempt(participant, 2)
                follow([participant], ignore, site.server.require_up, seconds=400)
            (row,) = participant.leaderboard("free-style")
            assert row["team"] == "emmy"
            (text,) = rows_on_the_page(browser, site.server, site.stage)
            assert "emmy" in text and f"{row['score']:.3f}" in text
        services = make_services(site.settings)
        with services.database.reading() as session:
            assert session.query(Run).count() == 1
            assert session.query(RunScore).count() == 1
        services.database.dispose()


def wait_for_stage(participant: Participant, stage: str, seconds: float = 400) -> None:
    wait_for(participant, lambda run: run["state"] == stage, stage, seconds)


def wait_for_attempt(participant: Participant, attempt: int, seconds: float = 400) -> None:
    wait_for(participant, lambda run: run["attempt"] >= attempt, f"attempt {attempt}", seconds)


def wait_for(participant: Participant, reached: Any, what: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not reached(run := participant.look()["runs"][0]):
        assert run["state"] not in ("failed", "finished"), (
            f"ended before {what}: {run['state']} {run['message']}"
        )
        assert time.monotonic() < deadline, f"{what} was not reached: {run['state']}"
        time.sleep(0.1)

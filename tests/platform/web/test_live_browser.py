"""The page of a submission while it runs, in a real browser: lost streams, many tabs, several runs, the end."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import Series, Stage
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.run_logs.models import RunEvent, RunMeasure
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.people.users.models import LoginSession
from tests.platform.site import the_app
from tests.platform.web.conftest import LiveSite, MadeScene
from tests.services.browsing import press, until
from tests.services.sites import served

NOT_LIVE = "This page is not live at the moment."
ENDED = "The submission has ended. Finished."
LATE = "written meanwhile"
CURVE = "JSON.parse(document.querySelector('figure[data-key^=memory] [data-chart]').dataset.chart).at"
TABS = 7  # one more than a browser has connections to a site


def _run_of(session: Session, live: LiveSite, name: str = "running") -> Run:
    wanted = Run.submission_id == live.scene.submissions[name].id
    return session.scalars(select(Run).where(wanted)).one()


def _move_on(live: LiveSite) -> None:
    with live.services.database.writing() as session:
        _run_of(session, live).tasks_done += 1


def _write(live: LiveSite, text: str) -> None:
    """A line after those of the scene."""
    with live.services.database.writing() as session:
        run = _run_of(session, live)
        line = {"stream": "stdout", "stage": Stage.META_TRAINING, "text": text, "at": datetime.now(UTC)}
        session.add(RunEvent(run_id=run.id, epoch=run.epoch, seq=1000, **line))
        run.seconds_used += 1  # what wakes the page's stream


def _end(live: LiveSite) -> None:
    with live.services.database.writing() as session:
        run = _run_of(session, live)
        session.get_one(Submission, run.submission_id).status = SubmissionStatus.FINISHED
        run.state = RunState.FINISHED


def _measure(session: Session, run: Run, seconds: float) -> None:
    used = {"series": Series.RESOURCES, "stage": Stage.META_TRAINING, "width": 100.0, "memory_bytes": 1 << 30}
    session.add(RunMeasure(run_id=run.id, epoch=run.epoch, seq=int(seconds), seconds=seconds, **used))


def _notes(browser: webdriver.Chrome) -> str:
    return browser.execute_script("return document.querySelector('.toasts')?.innerText ?? ''")


def _clock(browser: webdriver.Chrome) -> float:
    return browser.execute_script("return document.querySelector('[data-time] progress').value")


def _log(browser: webdriver.Chrome) -> list[str]:
    lines = "[...document.querySelectorAll('#log .log__line')]"
    return browser.execute_script(f"return {lines}.map((one) => one.textContent)")


def _says(browser: webdriver.Chrome, words: str) -> None:
    until(browser, lambda b: words in b.find_element(By.CSS_SELECTOR, "#live [data-status]").text)


def _wait(browser: webdriver.Chrome, seconds: float) -> None:
    browser.execute_async_script(f"setTimeout(arguments[0], {1000 * seconds})")


def _moves(browser: webdriver.Chrome) -> bool:
    """Whether the clock of the run moves by itself."""
    before = _clock(browser)
    _wait(browser, 1.2)
    return _clock(browser) > before


@dataclass
class Refusing:
    """The site behind a proxy that answers `status`, if there is one, to whoever asks for a stream."""

    site: Any
    status: int | None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """An ASGI application."""
        if self.status is None or not scope.get("path", "").endswith("/stream"):
            await self.site(scope, receive, send)
            return
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        body = json.dumps({"message": "Please close some."}).encode()
        await send({"type": "http.response.body", "body": body})


@pytest.mark.seconds("a site is stopped and started under a page")
@pytest.mark.parametrize(("status", "words"), [(502, ""), (429, " Please close some.")])
def test_a_page_whose_stream_is_refused_says_so_and_goes_on_once_it_is_answered(
    scene_services: Services, made_scene: MadeScene, browser: webdriver.Chrome, status: int, words: str
) -> None:
    """A browser gives a stream up at the first answer that is not 200; the page's clock ran on."""
    live = LiveSite(scene_services.settings.base_url, scene_services, made_scene.scene)
    with served(the_app(scene_services), scene_services.settings.port):
        live.sign_in(browser, live.scene.ada)
        browser.get(live.path("running"))
        _move_on(live)
        _says(browser, "task 85 of")
        assert _moves(browser)
    proxy = Refusing(the_app(scene_services), status)
    with served(proxy, scene_services.settings.port):
        until(browser, lambda b: _notes(b).strip() == NOT_LIVE + words)
        assert not _moves(browser), "nobody knows whether the run goes on"
        _move_on(live)
        _write(live, LATE)
        proxy.status = None
        _says(browser, "task 86 of")
        until(browser, lambda b: LATE in _log(b) and _notes(b) == "")
        assert len(_log(browser)) == len(set(_log(browser))), "a line came twice"
        assert _moves(browser)


@pytest.mark.seconds("a run in a browser")
def test_who_logged_out_is_asked_to_log_in_and_the_page_goes_on_afterwards(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("running"))
    _move_on(live)
    _says(browser, "task 85 of")
    with live.services.database.writing() as session:
        session.execute(delete(LoginSession))
    _move_on(live)  # the stream ends at the next look
    until(browser, lambda b: "Please log in." in _notes(b))
    link = browser.find_element(By.CSS_SELECTOR, ".toasts a")
    path = live.path("running").removeprefix(live.address)
    assert link.get_attribute("href") == f"{live.address}/login?next={path.replace('/', '%2F')}"

    page = browser.current_window_handle
    browser.switch_to.new_window("tab")
    live.sign_in(browser, live.scene.ada)  # elsewhere, as in another tab
    browser.close()
    browser.switch_to.window(page)
    _says(browser, "task 86 of")
    until(browser, lambda b: _notes(b) == "")


@pytest.fixture
def tabs(browser: webdriver.Chrome) -> Iterator[list[str]]:
    """As many tabs; the first is the browser's own, and alone again afterwards."""
    first = browser.current_window_handle
    browser.set_page_load_timeout(15)
    for _ in range(TABS - 1):
        browser.switch_to.new_window("tab")
    yield [first, *(one for one in browser.window_handles if one != first)]
    for one in browser.window_handles:
        if one != first:
            browser.switch_to.window(one)
            browser.close()
    browser.switch_to.window(first)
    browser.set_page_load_timeout(60)


@pytest.mark.seconds("seven tabs")
def test_seven_live_pages_are_open_and_the_one_in_sight_is_live(
    live: LiveSite, browser: webdriver.Chrome, tabs: list[str]
) -> None:
    """A browser has six connections to a site: the seventh page never came."""
    browser.switch_to.window(tabs[0])
    live.sign_in(browser, live.scene.ada)
    for tab in tabs:
        browser.switch_to.window(tab)
        browser.get(live.path("running"))
    _move_on(live)
    _says(browser, "task 85 of")
    browser.switch_to.window(tabs[0])
    _says(browser, "task 85 of")
    _write(live, LATE)
    until(browser, lambda b: LATE in _log(b))
    assert _notes(browser) == ""


def _type_a_note(browser: webdriver.Chrome) -> None:
    browser.find_element(By.XPATH, "//summary[contains(., 'note')]").click()
    browser.find_element(By.NAME, "comment").send_keys("half a sent")


@pytest.mark.seconds("a run in a browser")
@pytest.mark.parametrize("busy", [_type_a_note, lambda browser: press(browser, "Cancel")])
def test_the_end_of_a_run_leaves_a_note_that_is_written_and_a_dialog_that_is_open(
    live: LiveSite, browser: webdriver.Chrome, busy: Callable[[webdriver.Chrome], None]
) -> None:
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("running"))
    busy(browser)
    _end(live)
    until(browser, lambda b: ENDED in _notes(b))
    if busy is _type_a_note:
        written = browser.execute_script("return document.querySelector('[name=comment]').value")
        assert written == "half a sent"
    else:
        assert browser.find_elements(By.CSS_SELECTOR, "dialog[open]")
    assert not _moves(browser)
    _wait(browser, 6)
    assert ENDED in _notes(browser), "it is there for who was away"
    browser.execute_script("document.querySelector('dialog[open]')?.close()")
    browser.find_element(By.LINK_TEXT, "Reload the page to see how it ended.").click()
    until(browser, lambda b: not b.find_elements(By.CSS_SELECTOR, "[data-live='1']"))


def test_who_only_reads_gets_the_page_of_what_has_ended(live: LiveSite, browser: webdriver.Chrome) -> None:
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("running"))
    _move_on(live)
    _says(browser, "task 85 of")
    _end(live)
    until(browser, lambda b: not b.find_elements(By.CSS_SELECTOR, "[data-live='1']"))
    until(browser, lambda b: ENDED in _notes(b))


@pytest.mark.seconds("a run in a browser")
def test_each_of_three_seeded_runs_has_the_badge_of_what_it_does_now(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    with live.services.database.writing() as session:
        first = _run_of(session, live, "queued")
        copied = ("kind", "competition_id", "phase_id", "phase_version_id", "submission_id", "team_id")
        values = {name: getattr(first, name) for name in (*copied, "state", "queued_at", "tasks_total")}
        session.add_all(Run(**values, seed_index=seed) for seed in (1, 2))
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("queued"))

    def badges() -> list[str]:
        shown = "[...document.querySelectorAll('.runcard .badge')]"  # in one step: the stream replaces them
        return browser.execute_script(f"return {shown}.map((one) => one.innerText.trim())")

    assert badges() == ["Queued"] * 3
    with live.services.database.writing() as session:
        run = session.get_one(Run, first.id)
        run.state, run.tasks_done = RunState.META_TESTING, 39
    until(browser, lambda _: sorted(badges()) == ["Meta-testing", "Queued", "Queued"])
    card = browser.find_element(By.CSS_SELECTOR, f"[data-run='{first.id}']")
    assert "Meta-testing\n" in card.text and "task 40 of" in card.text


@pytest.mark.seconds("a run in a browser")
def test_the_curves_of_an_attempt_whose_worker_was_lost_end_with_it(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    """The points of the next attempt were dropped until they had caught up, and then drawn behind the dead one's."""
    with live.services.database.writing() as session:
        _run_of(session, live).state = RunState.QUEUED
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("running"))
    assert max(browser.execute_script(f"return {CURVE}")) == 4000.0
    for seconds in (100.0, 5000.0):
        with live.services.database.writing() as session:
            run = _run_of(session, live)
            run.state, run.epoch = RunState.META_TRAINING, 2
            run.seconds_used = seconds
            _measure(session, run, seconds)
        until(browser, lambda b, at=seconds: b.execute_script(f"return {CURVE}.at(-1)") == at)
    assert browser.execute_script(f"return {CURVE}") == [100.0, 5000.0]
    losses = browser.find_element(By.CSS_SELECTOR, "figure[data-key^=loss]")
    assert not losses.is_displayed(), "this attempt has logged nothing yet"


@pytest.mark.seconds("a run in a browser")
def test_points_come_once_to_a_page_that_was_out_of_sight(live: LiveSite, browser: webdriver.Chrome) -> None:
    """Two series have points at one time: sent again, the first of them looked new."""
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("running"))
    curve = CURVE.replace("memory", "loss")
    with live.services.database.writing() as session:
        run = _run_of(session, live)
        told = {"stage": Stage.META_TRAINING, "seconds": 4500.0, "width": 100.0, "step": 1, "rows": 1}
        for seq, series in enumerate((Series.TRAINING, Series.VALIDATION), 4000):
            session.add(
                RunMeasure(run_id=run.id, epoch=run.epoch, seq=seq, series=series, loss=0.1 * seq, **told)
            )
        run.seconds_used += 1
    until(browser, lambda b: b.execute_script(f"return {curve}.at(-1)") == 4500.0)
    before = browser.execute_script(f"return {curve}")
    page = browser.current_window_handle
    browser.switch_to.new_window("tab")
    _move_on(live)
    browser.close()
    browser.switch_to.window(page)
    _says(browser, "task 85 of")
    assert browser.execute_script(f"return {curve}") == before

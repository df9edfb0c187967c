"""The log and the charts of a run in a real browser: search, the way to the error, Follow, zoom."""

from datetime import UTC, datetime

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from sqlalchemy import func, select

from anyshot_core.wire.worker_api import Stage
from anyshot_platform.judging.run_logs.models import RunEvent
from anyshot_platform.judging.runs.models import Run
from tests.platform.web.conftest import LiveSite
from tests.services.browsing import press, until

# Where a line with these words is within the box of the log: above 0 and below 1 it is in sight.
PLACE = """
const log = document.getElementById("log");
const line = [...log.querySelectorAll(".log__line")].find((one) => one.textContent.includes(arguments[0]));
if (!line) return null;
const [box, place] = [log.getBoundingClientRect(), line.getBoundingClientRect()];
return (place.top - box.top) / box.height;
"""
CURVE = "figure[data-key^=memory]"
ERROR = "ValueError: the shots do not fit"


def _write(live: LiveSite, lines: list[tuple[str, str]]) -> None:
    """Lines of the running submission (stream, text), as its worker would send them."""
    with live.services.database.writing() as session:
        wanted = Run.submission_id == live.scene.submissions["running"].id
        run = session.scalars(select(Run).where(wanted)).one()
        known = select(func.coalesce(func.max(RunEvent.seq), -1)).where(RunEvent.run_id == run.id)
        first = (session.scalar(known) or 0) + 1
        run.seconds_used += 1  # what wakes the page's stream
        for seq, (stream, text) in enumerate(lines, first):
            session.add(
                RunEvent(
                    run_id=run.id,
                    epoch=run.epoch,
                    seq=seq,
                    at=datetime.now(UTC),
                    stream=stream,
                    stage=Stage.META_TRAINING,
                    text=text,
                )
            )


def _in_sight(browser: webdriver.Chrome, words: str) -> bool:
    place = browser.execute_script(PLACE, words)
    return place is not None and -0.05 < place < 1


@pytest.mark.seconds("a run in a browser")
def test_a_long_log_is_searched_leads_to_its_error_and_is_followed_while_it_runs(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    error = [("stderr", "Traceback (most recent call last):"), ("stderr", ERROR)]
    _write(
        live,
        [
            *(("stdout", f"early {number}") for number in range(150)),
            ("stderr", "RuntimeError: a first try, which was caught"),
            ("stdout", "A Needle in the hay"),
            *(("stdout", f"middle {number}") for number in range(150)),
            *error,
            *(("stdout", f"late {number}") for number in range(150)),
        ],
    )
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("running"))
    follow = browser.find_element(By.ID, "log-follow")
    assert follow.is_selected() and _in_sight(browser, "late 149") and not _in_sight(browser, "Needle")

    search = browser.find_element(By.ID, "log-search")
    search.send_keys("needle IN")
    until(browser, lambda b: _in_sight(b, "A Needle in the hay"))
    found = browser.find_elements(By.CSS_SELECTOR, "#log .is-found")
    assert [line.text for line in found] == ["A Needle in the hay"]
    assert not follow.is_selected()  # who reads is not carried off

    press(browser, "Jump to the error")
    until(browser, lambda b: _in_sight(b, ERROR) and not _in_sight(b, "Needle"))
    _write(live, [("stdout", f"new {number}") for number in range(50)])
    until(browser, lambda b: b.execute_script(PLACE, "new 49") is not None)
    assert _in_sight(browser, ERROR) and not _in_sight(browser, "new 49")

    browser.execute_script("arguments[0].click()", follow)
    until(browser, lambda b: _in_sight(b, "new 49"))
    _write(live, [("stdout", f"newer {number}") for number in range(50)])
    until(browser, lambda b: _in_sight(b, "newer 49"))


@pytest.mark.seconds("a run in a browser")
def test_what_has_ended_is_not_followed_and_its_charts_zoom(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("finished"))
    assert browser.find_elements(By.ID, "log-search") and not browser.find_elements(By.ID, "log-follow")
    headings = [one.text for one in browser.find_elements(By.CSS_SELECTOR, "h1")]
    assert headings == ["#2 proto-net.zip"]
    header = browser.find_element(By.CSS_SELECTOR, "main header, main .pagehead").text
    assert header.count("proto-net.zip") == 1, header
    log, figure = browser.find_element(By.ID, "log"), browser.find_element(By.CSS_SELECTOR, CURVE)
    assert not log.is_displayed() and not figure.is_displayed()
    browser.find_element(By.XPATH, "//summary[.='Log']").click()
    until(browser, lambda b: b.execute_script("return arguments[0].scrollTop", log) > 0)  # its end is shown
    browser.find_element(By.XPATH, "//summary[.='How it ran']").click()
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)  # drawn when it is seen
    until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, f"{CURVE} .u-over"))
    over = browser.find_element(By.CSS_SELECTOR, f"{CURVE} .u-over")
    legend = browser.find_element(By.CSS_SELECTOR, f"{CURVE} .u-legend")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", over)
    half = over.size["width"] // 2

    def at_the_left() -> str:
        """What the chart tells at its left edge."""
        hover = webdriver.ActionChains(browser).move_to_element(over)
        hover.move_to_element_with_offset(over, 3 - half, 0).perform()
        return " ".join(legend.text.split())

    whole = at_the_left()
    drag = webdriver.ActionChains(browser).move_to_element(over).click_and_hold()
    drag.move_by_offset(half // 2, 0).move_by_offset(half // 4, 0).release().perform()
    assert at_the_left() != whole
    webdriver.ActionChains(browser).move_to_element(over).double_click().perform()
    assert at_the_left() == whole

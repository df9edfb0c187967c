"""The account and the leaderboard in a real browser."""

import re
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.people.notifications.models import NotificationChoice
from anyshot_platform.people.users.models import User
from tests.platform.web.conftest import LiveSite
from tests.platform.web.scene import PASSWORD
from tests.services.browsing import arrive, fill, press, text_of, until

OWN_ROW_IN_SIGHT = """
const top = document.querySelector("#board tr.is-own").getBoundingClientRect().top;
return 0 <= top && top < innerHeight;
"""


@pytest.mark.seconds("an account in a browser")
def test_a_choice_of_notifications_stays(live: LiveSite, browser: webdriver.Chrome) -> None:
    live.sign_in(browser, live.scene.ada)
    address = f"{live.address}/account/notifications"
    browser.get(address)
    switch = browser.find_element(By.NAME, "email:announcement")
    before = switch.is_selected()
    switch.click()
    press(browser, "Save")
    until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".alert"))
    browser.get(address)
    assert browser.find_element(By.NAME, "email:announcement").is_selected() is not before
    with live.services.database.reading() as session:
        assert session.get_one(NotificationChoice, (live.scene.ada.id, "announcement")).email is not before


@pytest.mark.parametrize(("ended", "tone"), [("finished", "good"), ("failed", "bad"), ("cancelled", "warn")])
def test_who_watched_a_run_is_told_how_it_ended(
    live: LiveSite, browser: webdriver.Chrome, ended: str, tone: str
) -> None:
    submission_id = live.scene.submissions["finished" if ended == "finished" else "failed"].id
    with live.services.database.writing() as session:
        session.get_one(Submission, submission_id).status = SubmissionStatus(ended)
    live.sign_in(browser, live.scene.ada)
    browser.get(f"{live.address}/submissions/{submission_id}")
    browser.execute_script("sessionStorage.setItem('ended', document.getElementById('live').dataset.stream)")
    browser.refresh()
    words, note = f"The submission has ended. {ended.capitalize()}.", f".toasts .alert--{tone}"
    until(browser, lambda b: words in b.find_element(By.CSS_SELECTOR, note).text)


@pytest.mark.seconds("an account in a browser")
def test_deleting_ones_account(live: LiveSite, browser: webdriver.Chrome) -> None:
    live.sign_in(browser, live.scene.ada)
    browser.get(f"{live.address}/account/delete")
    fill(browser, confirm_name="ada", password=PASSWORD)
    press(browser, "Delete my account")
    until(browser, lambda b: "Your account is deleted." in text_of(b))
    browser.get(f"{live.address}/account")
    assert "/login" in browser.current_url, "the session is gone"
    fill(browser, username="ada", password=PASSWORD)
    press(browser, "Log in")
    until(browser, lambda b: "is wrong" in text_of(b))
    with live.services.database.reading() as session:
        user = session.get_one(User, live.scene.ada.id)
        assert user.deleted_at is not None and user.email is None
    browser.get(f"{live.address}/competitions/{live.scene.competition.slug}/leaderboard")
    assert "Analytical Engines" in text_of(browser), "results of others remain comparable"


def rows(browser: webdriver.Chrome) -> list[str]:
    """The teams in the order of the board."""
    found = browser.execute_script(
        "return [...document.querySelectorAll('#board tbody th')].map((cell) => cell.innerText)"
    )
    return [text.split("\n")[0].strip() for text in found]


@pytest.mark.seconds("an account in a browser")
def test_the_board_sorts_by_a_dataset_and_finds_ones_own_row(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    live.sign_in(browser, live.scene.ada)
    board = f"/competitions/{live.scene.competition.slug}/leaderboard"
    browser.get(live.address + board)
    assert rows(browser)[0].startswith("MetaBeyond")
    assert browser.find_elements(By.CSS_SELECTOR, "#board tr.bracket--start")
    assert browser.find_elements(By.CSS_SELECTOR, "#board tr.is-baseline")
    assert "History of the board" in text_of(browser)
    chart = browser.find_element(By.CSS_SELECTOR, "figure [data-chart]")
    browser.execute_script("arguments[0].scrollIntoView()", chart)
    until(browser, lambda b: chart.find_elements(By.CSS_SELECTOR, "canvas"))
    browser.execute_script("window.scrollTo(0, 0)")
    browser.find_element(By.LINK_TEXT, "H10").click()
    arrive(browser, board, "sort=-d")
    values = browser.execute_script(
        "return [...document.querySelectorAll('#board tbody tr')].map((row) => Number(row.cells[13].innerText))"
    )
    assert values == sorted(values, reverse=True) and len(values) == 10
    assert "History of the board" not in text_of(browser)
    browser.find_element(By.LINK_TEXT, "My row").click()
    arrive(browser, board, "page=")
    assert "Analytical Engines" in browser.find_element(By.CSS_SELECTOR, "#board tr.is-own").text
    until(browser, lambda b: b.execute_script(OWN_ROW_IN_SIGHT))


def legend_of(browser: webdriver.Chrome) -> str:
    """What a chart tells of the place under the pointer, in one line."""
    return " ".join(browser.find_element(By.CSS_SELECTOR, ".u-legend").text.split())


@pytest.mark.seconds("a scored submission in a browser")
def test_the_pointer_reads_a_cell_of_the_confusion(live: LiveSite, browser: webdriver.Chrome) -> None:
    with live.services.database.writing() as session:
        session.get_one(Phase, live.scene.phase.id).show_confusion = True
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("finished"))
    press(browser, "Which classes are confused")
    arrive(browser, confusion := f"/submissions/{live.scene.submissions['finished'].id}/confusion")
    browser.find_element(By.LINK_TEXT, "Hidden 2").click()
    arrive(browser, confusion, "dataset=2")
    until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".u-over"))
    over = browser.find_element(By.CSS_SELECTOR, ".u-over")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", over)
    assert not browser.find_element(By.CSS_SELECTOR, ".chart__table").get_property("open")
    told = []
    for down in (0.1, 0.9):  # in the same column
        at = int((down - 0.5) * over.size["height"])
        webdriver.ActionChains(browser).move_to_element_with_offset(over, 0, at).perform()
        until(browser, lambda b: "–" not in (words := legend_of(b)) and words not in told)
        told.append(legend_of(browser))
    rows = [
        re.fullmatch(r"Rate\s*\d+ % True class\s*(Class \d+) Taken for\s*(Class \d+)", one) for one in told
    ]
    assert rows[0] and rows[1] and rows[0][1] != rows[1][1] and rows[0][2] == rows[1][2], told
    assert "Most frequent mistakes" in text_of(browser)
    for colour, surface in (("rgb(0, 114, 178)", "rgb(255, 255, 255)"), ("#56b4e9", "#141b22")):
        few, half, all_, *inks = browser.execute_async_script(CELLS, colour, surface)
        assert min(inks) > 4.5, inks  # each number is read
        assert few > 1.4 and half > 1.3 * few and all_ > 1.3 * half  # and each is seen: 5 %, 50 %, 100 %


# The contrasts to the page of cells of 5, 50 and 100 %, and then that of each number to its cell.
CELLS = """
const [colour, surface, done] = arguments;
const { cellColours } = await import(
  document.querySelector('script[src*="js/charts.js"]').src.replace("charts.js", "cells.js")
);
const rgb = (words) => {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = words;
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const light = (words) => rgb(words)
  .map((part) => part / 255)
  .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0.05);
const contrast = (one, other) =>
  Math.max(light(one) / light(other), light(other) / light(one));
const cells = [0.05, 0.5, 1, ...Array.from({ length: 101 }, (_, place) => place / 100)]
  .map((value) => cellColours(value, { colour, surface }));
done([
  ...cells.slice(0, 3).map(({ fill }) => contrast(fill, surface)),
  ...cells.map(({ fill, ink }) => contrast(fill, ink)),
]);
"""


def test_a_single_card_is_neither_lost_nor_as_wide_as_the_page(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    live.sign_in(browser, live.scene.ada)
    browser.get(live.address)
    cards, page = (browser.find_elements(By.CSS_SELECTOR, wanted) for wanted in (".compcard", ".grid"))
    assert len(cards) == 1 and 0.45 < cards[0].size["width"] / page[0].size["width"] < 0.8
    browser.get(f"{live.address}/notifications")
    weight = "return getComputedStyle(document.querySelector('.note__title')).fontWeight"
    unread, badge = browser.execute_script(weight), browser.find_elements(By.CSS_SELECTOR, ".note .badge")
    assert [one.text for one in badge] == [
        "new"
    ]  # a word, which is read aloud, and a weight: not the colour alone
    press(browser, "Mark all as read")
    until(browser, lambda b: not b.find_elements(By.CSS_SELECTOR, ".note .badge"))
    assert int(unread) > int(browser.execute_script(weight)) + 100


def test_on_a_phone_the_navigation_shows_where_one_is(live: LiveSite, browser: webdriver.Chrome) -> None:
    live.sign_in(browser, live.scene.organizer)
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(f"{live.address}/competitions/{live.scene.competition.slug}/manage/audit")
        place = "return document.querySelector('.sidenav [aria-current]').getBoundingClientRect()"
        until(browser, lambda driver: driver.execute_script(place)["x"] < 300)
        box = browser.execute_script(place)
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


CURRENT_IN_SIGHT = """
const item = document.querySelector(".sidenav [aria-current], .tabs [aria-current]");
const [at, bar] = [item.getBoundingClientRect(), item.parentElement.getBoundingClientRect()];
return at.left >= Math.max(bar.left, 0) - 1 && at.right <= Math.min(bar.right, innerWidth) + 1;
"""
ACCOUNT = ("", "/notifications", "/security", "/second-factor", "/tokens", "/teams", "/delete")


def test_on_a_phone_each_page_of_the_account_shows_which_it_is(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    live.sign_in(browser, live.scene.ada)
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        hidden = []
        for page in ACCOUNT:
            browser.get(f"{live.address}/account{page}")
            until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "[aria-current]"))
            if not browser.execute_script(CURRENT_IN_SIGHT):
                hidden.append(page)
                browser.save_screenshot(str(tmp_path / f"hidden{page.replace('/', '-')}.png"))
        assert hidden == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

"""The states that nobody plans for are readable: on a phone, in the dark, and without JavaScript.

`ANYSHOT_SHOTS=FOLDER` leaves a picture of each, on a phone and on a desk, to be looked at.
"""

import base64
import html
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from tests.platform.web.conftest import LiveSite, Visitor
from tests.platform.web.scene import Scene
from tests.platform.web.test_axe import violations
from tests.platform.web.ugly import LONG_TEAM, make_ugly

SHOTS = os.environ.get("ANYSHOT_SHOTS")
VIEWS = {"phone": (390, "dark"), "desk": (1280, "light")}
SMALLEST = 11  # pixels: what a label of a chart has at least

# Notes each label that a chart writes onto a canvas, its size, and how far it stands out of it at the left and right; a
# pixel of the device is one pixel here.
NOTE_FONTS = """
globalThis.labels = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  const [at, down] = place;
  const wide = this.measureText(text).width;
  const from = { left: 0, start: 0, center: -wide / 2 }[this.textAlign] ?? -wide;
  const ends = [from, from + wide].map((x) => new DOMPoint(at + x, down).matrixTransform(this.getTransform()).x);
  const out = Math.max(-Math.min(...ends), Math.max(...ends) - this.canvas.width);
  globalThis.labels.push([text, Number(/([\\d.]+)px/.exec(this.font)[1]), out]);
  return write.call(this, text, ...place);
};
"""
# What of a page is said by the site: not what people wrote, not code.
LOOK = """
const scale = (drawn) => Math.hypot(drawn.a, drawn.b); // of what is turned too
const seen = document.body.cloneNode(true);
const written = ".prose, pre, code, textarea, script, style, template, [lang], .comphead, .compcard, .crumbs, .log";
for (const one of seen.querySelectorAll(written)) one.remove();
for (const one of seen.querySelectorAll("option")) if (one.textContent.trim() === one.value) one.remove(); // keywords
return {
  width: document.documentElement.scrollWidth,
  over: [...document.querySelectorAll("summary")].filter((one) => one.scrollWidth > one.clientWidth + 1).length,
  cut: [...document.querySelectorAll(".board__table span.faint")].filter(
    (one) => one.getBoundingClientRect().right > one.closest(".card").getBoundingClientRect().right - 4).length,
  drawings: [...document.querySelectorAll("main svg text")].map(
    (one) => [one.textContent, Number.parseFloat(getComputedStyle(one).fontSize) * scale(one.getScreenCTM())]),
  charts: [...document.querySelectorAll("[data-chart]")].map((one) => JSON.parse(one.dataset.chart)),
  text: [...seen.querySelectorAll("*")].flatMap((one) => [...one.childNodes]).filter(
    (one) => one.nodeType === Node.TEXT_NODE).map((one) => one.data.trim().replace(/\\s+/g, " ")).filter(Boolean),
};
"""


@pytest.mark.slow("some thirty pages in a browser")
def test_ugly_states_are_readable(live: LiveSite, browser: webdriver.Chrome) -> None:
    pages = add_ugly(live)
    odd: dict[str, list[str]] = {}
    noting = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": NOTE_FONTS})
    try:
        for user in (live.scene.visitor, live.scene.bob, live.scene.ada):
            live.sign_in(browser, user)
            for name, page in pages.items():
                if page.user.id == user.id:
                    _open(browser, live.address + page.path, "phone", bare=page.bare)
                    found = faults(browser.execute_script(LOOK), wide=VIEWS["phone"][0])
                    found += [] if page.bare else violations(browser)
                    odd |= {name: found} if found else {}
                    if SHOTS:
                        _shoot(browser, live.address + page.path, name, bare=page.bare)
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", noting)
    assert not odd, "\n".join(f"{name}: {one}" for name, found in odd.items() for one in found)


def add_ugly(live: LiveSite) -> dict[str, Any]:
    """The pages of states that nobody plans for, added to the scene."""
    with live.services.database.writing() as session:
        return make_ugly(session, live.scene)


def _open(browser: webdriver.Chrome, address: str, view: str, *, bare: bool) -> None:
    width, scheme = VIEWS[view]
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": bare})
    browser.get(address)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def _shoot(browser: webdriver.Chrome, address: str, name: str, *, bare: bool) -> None:
    for view in VIEWS:
        _open(browser, address, view, bare=bare)
        if not bare:
            _draw_charts(browser)
        picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        (Path(SHOTS or "") / f"{name}-{view}.png").write_bytes(base64.b64decode(picture["data"]))


def faults(seen: dict[str, Any], *, wide: int) -> list[str]:
    """What is wrong with a page: its width, the labels of its drawings."""
    found = [f"{seen['width']} pixels wide"] if seen["width"] > wide else []
    found += [f"{seen['cut']} intervals are cut off"] if seen["cut"] else []
    found += [f"{seen['over']} titles to open run out of their box"] if seen["over"] else []
    found += [f"for programs: {text[:90]}" for text in seen["text"] if "{'" in text or "['" in text]
    found += [f"a label of {size} pixels: {text}" for text, size in seen["drawings"] if size < SMALLEST]
    return found


def _draw_charts(browser: webdriver.Chrome) -> None:
    """Open what charts are folded into, scroll to each, and wait until it is drawn."""
    browser.execute_script(
        "for (const fold of document.querySelectorAll('details:has(figure)')) fold.open = true"
    )
    for chart in browser.find_elements("css selector", "figure:not([hidden]) [data-chart]"):
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
        WebDriverWait(browser, 30, 0.05).until(
            lambda _, one=chart: one.find_elements("css selector", "canvas")
        )


def test_labels_of_charts_can_be_read_on_a_phone(live: LiveSite, browser: webdriver.Chrome) -> None:
    noting = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": NOTE_FONTS})
    try:
        live.sign_in(browser, live.scene.ada)
        _open(browser, live.path("finished"), "phone", bare=False)
        _draw_charts(browser)
        labels = browser.execute_script("return labels")
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", noting)
    assert len(labels) > 20 and [one for one in labels if one[1] < SMALLEST] == []
    assert "Hidden 10" in {one[0] for one in labels} and [one for one in labels if one[2] > 0] == []


def test_a_board_is_printed_whole_and_without_what_is_pressed(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    live.sign_in(browser, live.scene.ada)
    _open(
        browser, f"{live.address}/competitions/{live.scene.competition.slug}/leaderboard", "desk", bare=False
    )
    seen = _printed(browser, PRINTED)
    assert seen["pressed"] == [] and seen["rows"] > 5
    assert seen["right"] <= 718, "the table is cut off at the right"


def _printed(browser: webdriver.Chrome, script: str) -> Any:
    """What a script finds on a page that is laid out for paper of A4, between margins of 10 mm."""
    a4 = {"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", a4)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        return browser.execute_script(script)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.seconds("pages in a browser")
def test_charts_are_printed_in_their_cards_and_in_light_colours(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    """They ran out of their cards, and from a dark screen their labels were light grey on paper."""
    noting = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": NOTE_INKS})
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    try:
        live.sign_in(browser, live.scene.ada)
        _open(browser, live.path("finished"), "desk", bare=False)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
        browser.get(live.path("finished"))
        _draw_charts(browser)
        browser.execute_script("document.querySelector('.comphead, h1').scrollIntoView(); inks.clear()")
        pdf = browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
        inks = browser.execute_script("return [...inks]")
        for _ in range(2):  # the second time the page has been on the screen again
            browser.execute_cdp_cmd("Page.printToPDF", {})
        seen = _printed(browser, PRINTED_CHARTS)
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", noting)
    assert base64.b64decode(pdf).startswith(b"%PDF")
    assert inks[0] == "#4b5865", inks  # the light theme's, first of all that is written on paper
    assert seen["charts"] > 3 and seen["out"] == [] and seen["pressed"] == []


NOTE_INKS = """
globalThis.inks = new Set();
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (...text) {
  globalThis.inks.add(this.fillStyle);
  return write.apply(this, text);
};
"""
PRINTED_CHARTS = """
const shown = (one) => one.offsetParent !== null;
const canvases = [...document.querySelectorAll("canvas")];
return {
  charts: canvases.length,
  out: canvases.map((one) => [one, one.closest(".card")].map((box) => box.getBoundingClientRect().width)).filter(
    ([canvas, card]) => canvas > card || canvas < 0.7 * card),
  pressed: [...document.querySelectorAll("button, .btn, input, nav:not(.crumbs)")].filter(shown).map(
    (one) => one.outerHTML),
};
"""


PRINTED = """
const shown = (one) => one.offsetParent !== null;
return {
  pressed: [...document.querySelectorAll("button, .btn, .tabs a, input, nav")].filter(shown).map(
    (one) => one.outerHTML.slice(0, 80)),
  rows: [...document.querySelectorAll(".board__table tbody tr")].filter(shown).length,
  right: Math.max(...[...document.querySelectorAll(".board__table td")].filter(shown).map(
    (one) => one.getBoundingClientRect().right)),
};
"""


def test_a_board_of_one_row_and_of_none_counts_and_explains_no_bracket(
    visitor: Visitor, scene: Scene
) -> None:
    with visitor.services.database.writing() as session:
        pages = make_ugly(session, scene)
    visitor.sign_in(scene.ada)
    one, none = (visitor.see(pages[name].path) for name in ("one-task-board", "closed-board"))
    assert "league: 1 ranked" in one and "league: 0 ranked" in none
    assert "legend__bracket" not in one
    board = visitor.see(pages["names-board"].path)
    assert "legend__bracket" in board and "The stronger" in board and "H1 is Hidden 1." in board


def test_the_legend_of_a_board_has_the_colours_of_its_scores(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    live.sign_in(browser, live.scene.ada)
    _open(
        browser, f"{live.address}/competitions/{live.scene.competition.slug}/leaderboard", "desk", bare=False
    )
    shown = browser.execute_script("""
      const colour = (one) => getComputedStyle(one).backgroundColor;
      return ["1", "2", "3", "4"].map((step) => [
        colour(document.querySelector(`.legend__heat .heat--${step}`)),
        colour(document.querySelector(`td.heat--${step}`))]);
    """)
    assert all(legend == cell for legend, cell in shown) and len({legend for legend, _ in shown}) == 4


def test_a_board_of_ten_datasets_fits_a_desk(live: LiveSite, browser: webdriver.Chrome) -> None:
    """Its last column was cut off. The head above it is small: the board begins in the upper half of the window."""
    live.sign_in(browser, live.scene.ada)
    _open(
        browser, f"{live.address}/competitions/{live.scene.competition.slug}/leaderboard", "desk", bare=False
    )
    frame = "document.querySelector('.board__table').parentElement"
    assert browser.execute_script(f"return {frame}.scrollWidth - {frame}.clientWidth") <= 0
    tabs = "document.querySelector('.tabs')"
    assert browser.execute_script(f"return {tabs}.scrollWidth - {tabs}.clientWidth") <= 0, (
        "a tab is out of sight"
    )
    head = "document.querySelector('.comphead').getBoundingClientRect()"
    assert browser.execute_script(f"return {head}.height") < 60
    narrow = {"width": 1000, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    tabs = "document.querySelector('.tabs')"
    assert browser.execute_script(f"return {tabs}.scrollWidth - {tabs}.clientWidth") <= 0, (
        "a tab is out of sight"
    )


@pytest.mark.seconds("pages in a browser")
def test_a_long_team_name_takes_two_lines_of_a_board_and_is_whole_where_the_keyboard_is(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    board = add_ugly(live)["names-board"].path
    live.sign_in(browser, live.scene.ada)
    for view, row_lines in (("desk", 2), ("phone", 3)):  # on a phone the badge is below the name
        _open(browser, live.address + board, view, bare=False)
        own = browser.execute_script("return document.querySelector('tr.is-own .board__team > a')")
        line = float(own.value_of_css_property("line-height").removesuffix("px"))
        (row,) = own.find_elements("xpath", "..")
        assert (round(own.size["height"] / line), round(row.size["height"] / line)) == (2, row_lines)
        assert own.get_attribute("title") == own.text == LONG_TEAM
        browser.execute_script("arguments[0].focus({focusVisible: true})", own)
        left = browser.execute_script("return arguments[0].scrollHeight - arguments[0].clientHeight", own)
        assert left == 0 and own.size["height"] > 2.5 * line


@pytest.mark.seconds("pages in a browser")
def test_whole_dates_and_long_titles_leave_tables_in_shape(live: LiveSite, browser: webdriver.Chrome) -> None:
    """Without scripts a board says whole dates, and its last column was cut off; a long title took six lines."""
    pages = add_ugly(live)
    live.sign_in(browser, live.scene.ada)
    _open(browser, live.address + pages["bare-board"].path, "desk", bare=True)
    frame = "document.querySelector('.board__table').parentElement"
    assert browser.execute_script(f"return {frame}.scrollWidth - {frame}.clientWidth") <= 0
    _open(browser, live.address + pages["names-mine"].path, "desk", bare=False)
    titles = browser.execute_script(
        "return [...document.querySelectorAll('td a[href^=\"/competitions/\"]')].map((one) => one.clientHeight)"
    )
    assert len(titles) > 5 and max(titles) <= 48


def test_what_is_undefined_is_not_drawn(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        pages = make_ugly(session, scene)
    visitor.sign_in(scene.organizer)  # participants see no mean of so few tasks while the phase is open
    page = visitor.see(pages["one-task"].path)
    charts = [json.loads(html.unescape(found)) for found in re.findall(r'data-chart="([^"]+)"', page)]
    ends = [
        end
        for chart in charts
        for one in chart["series"]
        for end in [*(one.get("low") or []), *(one.get("high") or [])]
    ]
    assert len(charts) >= 3 and ends and set(ends) == {None}
    assert "±" not in page and "A single task gives no interval for its score." in page
    board = visitor.see(pages["one-task-board"].path)
    assert (
        "whisker__dot" in board
        and "whisker__line" not in board
        and "±" not in board.split("<tbody>")[1].split("</tbody>")[0]
    )


def test_a_closed_phase_offers_nothing_that_it_refuses(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        pages = make_ugly(session, scene)
    visitor.sign_in(scene.ada)
    submit = visitor.see(pages["closed-submit"].path)
    assert "“Public phase” is closed: it ended at " in submit and "upload-form" not in submit
    assert "/phases/feedback/submit" in submit and "Submit to the phase that is open" in submit
    assert "Your quota" not in visitor.see(pages["closed-phase"].path)
    board = visitor.see(pages["closed-board"].path)
    assert "Nobody has a score in this phase." in board and "Be the first" not in board


def test_a_phase_that_is_open_and_empty_invites(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    board = visitor.see(
        f"/competitions/{scene.competition.slug}/leaderboard?phase=feedback&league=meta-learning"
    )
    assert "Be the first" in board and "/phases/feedback/submit" in board


def test_a_competition_without_dates_offers_no_calendar(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        pages = make_ugly(session, scene)
    page = visitor.see(pages["nothing-competition"].path)
    assert "calendar.ics" not in page and "The organizers have not set any dates yet." in page


@pytest.mark.seconds("pages in a browser")
def test_what_a_log_lacks_has_no_tools(live: LiveSite, browser: webdriver.Chrome) -> None:
    with live.services.database.writing() as session:
        pages = make_ugly(session, live.scene)
    live.sign_in(browser, live.scene.ada)
    browser.get(live.address + pages["failed-at-once"].path)
    tools = [browser.find_element("id", name) for name in ("log-search", "log-error")]
    assert [one.is_displayed() for one in tools] == [False, False]

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from anyshot_core.browser_charts.numbers import group_dots
from anyshot_core.report import report_html, report_text
from anyshot_scoring.pooling import pool_groups
from anyshot_scoring.summary import summarize
from anyshot_scoring.table import TaskTable
from tests.scoring.drawn import draw_table
from tests.services.browsing import until

ROOT = Path(__file__).parents[3]
TABLE = draw_table(1, 200)
SUMMARY = summarize(TABLE, 200)
META = {"title": "Run 17 <script>", "phase": "feedback", "train_seed": 93, "nested": {"not": "shown"}}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.fetched: list[str] = []
        self.charts: list[dict[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]
        self.charts += [json.loads(value or "") for name, value in attrs if name == "data-chart"]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_stands_alone():
    page = report_html(SUMMARY, TABLE, META)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert len(tags.charts) == tags.seen.count("details") == 5
    assert tags.seen.count("script") == 2 and tags.fetched == []
    assert "@import" not in page and "url(" not in page


def test_charts_are_the_numbers_that_the_sites_script_draws_and_undefined_ones_are_gaps() -> None:
    tags = Tags()
    tags.feed(report_html(SUMMARY, TABLE, META))
    datasets, _, ways, _, tasks = tags.charts
    assert datasets == json.loads(
        json.dumps(group_dots(SUMMARY.by_dataset, "Dataset", "Normalized accuracy"))
    )
    assert len(tasks["at"]) == 200 and tasks["x"]["names"] == [str(g.key) for g in SUMMARY.by_dataset]
    assert ways["series"][0]["values"] == [g.mean for g in pool_groups(SUMMARY.by_ways)]
    one = Tags()
    one.feed(report_html(summarize(draw_table(1, 1), 1), draw_table(1, 1), {}))
    assert all(
        series.get("low", [None]) == series.get("high", [None]) == [None]
        for chart in one.charts
        for series in chart["series"]
    )


def test_a_file_draws_its_charts_without_a_site(tmp_path: Path, browser: webdriver.Chrome) -> None:
    """And without scripts the tables are there, open."""
    file = tmp_path / "report.html"
    file.write_text(report_html(SUMMARY, TABLE, META), encoding="utf-8")
    assert file.read_text(encoding="utf-8").count('<details class="chart__table" open>') == 5
    browser.get(file.as_uri())
    browser.execute_script("document.querySelector('section:nth-of-type(5)').scrollIntoView()")
    until(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".chart__plot canvas")) >= 3)
    assert not browser.find_elements(By.CSS_SELECTOR, "details[open]")
    figure = browser.find_element(By.CSS_SELECTOR, ".report-breakdown figure")
    ActionChains(browser).move_to_element(figure.find_element(By.CSS_SELECTOR, ".u-over")).perform()
    until(browser, lambda _: re.search(r"0\.\d{3} ± 0\.\d{3}", figure.text))


def test_a_report_has_the_colours_of_the_site() -> None:
    page = " ".join(report_html(SUMMARY, TABLE, META).split())
    tokens = (ROOT / "platform/anyshot_platform/static/css/tokens.css").read_text(encoding="utf-8")
    for name in (
        "--text",
        "--text-2",
        "--surface",
        "--border",
        *(f"--series-{number}" for number in range(1, 7)),
    ):
        assert (found := re.search(rf"{name}: [^;]+;", tokens)) and found[0] in page


def test_a_report_is_printed_whole_and_in_light_colours(tmp_path: Path, browser: webdriver.Chrome) -> None:
    """All charts are drawn for paper, also those that nobody has scrolled to."""
    file = tmp_path / "report.html"
    file.write_text(report_html(SUMMARY, TABLE, META), encoding="utf-8")
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        browser.get(file.as_uri())
        browser.execute_script(NOTE_DRAWINGS)
        browser.execute_cdp_cmd("Page.printToPDF", {})
        drawn = browser.execute_script("return light.size")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert drawn == len(browser.find_elements(By.CSS_SELECTOR, "[data-chart]")) > 3


NOTE_DRAWINGS = """
globalThis.light = new Set(); // the canvases that were written on in the light theme's ink
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (...text) {
  if (this.fillStyle === "#4b5865") light.add(this.canvas);
  return write.apply(this, text);
};
"""


def test_score_interval_and_facts_are_there():
    page = report_html(SUMMARY, TABLE, META)
    assert f"{SUMMARY.mean:.3f} ± {SUMMARY.half_width:.3f}" in page
    assert "<dt>Train seed</dt><dd>93</dd>" in page
    assert "not shown" not in page
    assert "&lt;script&gt;" in page


def test_names_are_escaped():
    columns = TABLE.columns()
    columns["dataset"] = TABLE.dataset.astype("<U40")
    columns["dataset"][:50] = "<img src=x onerror=alert(1)>"
    nasty = TaskTable.from_columns(columns)
    page = report_html(summarize(nasty, 200), nasty, {})
    assert "<img" not in page
    assert "&lt;img src=x" in page


def test_one_task_says_that_its_interval_is_undefined():
    table = draw_table(1, 1)
    summary = summarize(table, 1)
    assert "the interval of a single task is undefined" in report_html(summary, table, {})
    assert "(interval undefined)" in report_text(summary, table, {})


def test_numbers_of_few_tasks_are_joined_in_the_text_as_in_the_charts():
    table = draw_table(1, 12)
    summary = summarize(table, 12)
    text = report_text(summary, table, {})
    for title in ("ways", "shots"):
        part = text.split(f"By number of {title}; those of fewer than 5 tasks are joined, at their mean\n")[1]
        rows = part.split("\n\n")[0].splitlines()
        assert 1 <= len(rows) <= 2 and all(
            5 <= int(re.findall(r"\d+", row.rstrip(" █"))[-1]) <= 12 for row in rows
        )


def test_equal_input_gives_equal_bytes():
    assert report_html(SUMMARY, TABLE, META) == report_html(SUMMARY, TABLE, META)


def test_the_text_holds_every_group():
    text = report_text(SUMMARY, TABLE, {"title": "Run \x1b[31m17"})
    assert "\x1b" not in text
    assert f"{SUMMARY.mean:.3f} ± {SUMMARY.half_width:.3f}" in text
    for groups in (SUMMARY.by_dataset, SUMMARY.by_ways, SUMMARY.by_shots):
        for group in groups:
            assert f"{group.mean:6.3f}" in text
    assert max(map(len, text.splitlines())) <= 80

import re
from html.parser import HTMLParser

from anyshot_core.report import report_html, report_section, report_text
from anyshot_scoring.summary import summarize
from anyshot_scoring.table import TaskTable
from tests.scoring.drawn import draw_table

TABLE = draw_table(1, 200)
SUMMARY = summarize(TABLE, 200)
META = {"title": "Run 17 <script>", "phase": "feedback", "train_seed": 93, "nested": {"not": "shown"}}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_stands_alone():
    page = report_html(SUMMARY, TABLE, META)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.seen.count("svg") == 5
    assert "script" not in tags.seen
    for outside in ("src=", "http://", "https://"):
        assert outside not in page.replace("http://www.w3.org/2000/svg", "")


def test_score_interval_and_facts_are_there():
    page = report_html(SUMMARY, TABLE, META)
    assert f"{SUMMARY.mean:.3f} ± {SUMMARY.half_width:.3f}" in page
    assert "<dt>Train seed</dt><dd>93</dd>" in page
    assert "not shown" not in page
    assert "&lt;script&gt;" in page


def test_the_section_has_no_style_and_no_heading_above_the_second_level():
    section = report_section(SUMMARY, TABLE, META)
    assert "style" not in section
    assert "<h1" not in section
    assert "<h2>By dataset</h2>" in section


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

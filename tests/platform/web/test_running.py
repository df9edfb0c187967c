"""Curves of a run: from the worker's heartbeat to the page, its stream, JSON and command, within the log policy."""

import csv
import hashlib
import html
import io
import json
import re
import zipfile
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import numpy as np
import pytest
from click.testing import CliRunner
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from sqlalchemy import select

from anyshot_core.browser_charts import FOLDER
from anyshot_core.browser_charts.numbers import MOST_DOTS
from anyshot_core.command import main
from anyshot_core.evaluations import PointScore, evaluation_from_dict
from anyshot_core.protocols import Roles, read_protocol
from anyshot_core.wire.worker_api import LogPolicy, Series, Stage
from anyshot_platform.app import create_app
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.run_logs.measures import keep_measures
from anyshot_platform.judging.run_logs.models import RunMeasure
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.running.operations.retention import expire_logs
from anyshot_platform.site.leaderboards import board_page
from anyshot_platform.site.shell.chart_data import of_groups, of_tasks
from anyshot_platform.site.submissions import pages
from anyshot_platform.standings.leaderboards.memo import forget_all
from anyshot_platform.standings.leaderboards.models import BoardChange
from anyshot_scoring.summary import Group
from tests.platform.site import Site, in_one_line
from tests.platform.web.conftest import LiveSite, Visitor
from tests.platform.web.scene import HIDDEN_MEMORY, Scene, add_measures
from tests.platform.web.test_ugly_states import NOTE_FONTS
from tests.services.browsing import until
from tests.services.processes import free_port
from tests.services.sites import served

UPLOT = {  # of uPlot 1.6.32, as its authors publish it
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": None,
    "LICENSE.txt": None,
}


def charts_of(page: str) -> dict[str, dict[str, Any]]:
    """The numbers of a page's charts by their titles."""
    parts = [part.partition("</figure>")[0] for part in page.split("<figure")[1:]]
    titles = [re.findall(r"<h[34]>([^<]+)</h[34]>", part)[0] for part in parts]
    found = [re.findall(r'data-chart="([^"]*)"', part)[0] for part in parts]
    return {title: json.loads(html.unescape(data)) for title, data in zip(titles, found, strict=True)}


def run_of(visitor: Visitor, scene: Scene, name: str) -> Run:
    with visitor.services.database.reading() as session:
        return session.scalars(select(Run).where(Run.submission_id == scene.submissions[name].id)).one()


def change(visitor: Visitor, scene: Scene, policy: LogPolicy) -> None:
    with visitor.services.database.writing() as session:
        session.get_one(Phase, scene.phase.id).log_policy = policy


def test_the_page_has_the_curves_of_meta_training_and_nothing_of_hidden_tasks(
    visitor: Visitor, scene: Scene
) -> None:
    visitor.sign_in(scene.ada)
    page = visitor.see(f"/submissions/{scene.submissions['finished'].id}")
    charts = charts_of(page)
    assert {"Loss", "Accuracy while training", "Processor", "Memory"} <= set(charts)
    assert "GPU" not in charts  # there was none
    training, validation = charts["Loss"]["series"]
    assert (training["label"], validation["label"]) == ("Training", "Validation")
    assert sum(value is not None for value in training["values"]) == 40
    assert sum(value is not None for value in validation["values"]) == 8
    assert max(charts["Memory"]["at"]) == 4000.0 and str(HIDDEN_MEMORY) not in page
    assert "could reveal hidden images" in " ".join(page.split())
    assert charts["Memory"]["limit"] == 4 << 30


def seen(visitor: Visitor, scene: Scene) -> set[Stage]:
    """The stages whose measures the visitor gets, the same from page, API, stream, report and *Everything*."""
    identity = scene.submissions["finished"].id
    told = {
        Stage(one["stage"]) for one in visitor.client.get(f"/api/v1/submissions/{identity}/measures").json()
    }
    page = visitor.see(f"/submissions/{identity}")
    stream = visitor.client.get(f"/submissions/{identity}/stream").text
    for text in (page, stream):
        assert (str(HIDDEN_MEMORY) in html.unescape(text)) == (Stage.META_TESTING in told)
        assert ("loss." in text) == (Stage.META_TRAINING in told)  # the key of a chart
    report = visitor.see(f"/submissions/{identity}/report.html")
    assert (str(HIDDEN_MEMORY) in html.unescape(report)) == (Stage.META_TESTING in told)
    assert ("Accuracy while training" in report) == (Stage.META_TRAINING in told)
    content = visitor.client.get(f"/submissions/{identity}/everything.zip").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        rows = csv.DictReader(io.TextIOWrapper(archive.open("measures.csv")))
        assert {Stage(row["stage"]) for row in rows} == told
        assert in_one_line(archive.read("report.html").decode()) == report
    return told


def test_the_report_draws_the_curves_of_the_page(visitor: Visitor, scene: Scene) -> None:
    """They stood on the page alone, and were gone with it."""
    visitor.sign_in(scene.ada)
    path = f"/submissions/{scene.submissions['finished'].id}"
    page, report = visitor.see(path), visitor.see(f"{path}/report.html")
    shown = report.partition('<section class="report-running">')[2]
    drawn = [json.loads(html.unescape(data)) for data in re.findall(r'data-chart="([^"]*)"', shown)]
    titles = re.findall(r"<h3>([^<]+)</h3>", shown)
    of_page = charts_of(page)
    assert titles == ["Loss", "Accuracy while training", "Processor", "Memory"]
    assert drawn == [of_page[title] for title in titles]
    assert "The line across is the limit: 4.0 GiB." in shown


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (LogPolicy.META_TRAIN, {Stage.META_TRAINING}),
        (LogPolicy.NOTHING, set()),
        (LogPolicy.EVERYTHING, {Stage.META_TRAINING}),  # the tested pool is hidden: that is not obeyed
    ],
)
def test_curves_are_shown_as_the_log_is(
    visitor: Visitor, scene: Scene, policy: LogPolicy, told: set[Stage]
) -> None:
    change(visitor, scene, policy)
    visitor.sign_in(scene.ada)
    assert seen(visitor, scene) == told
    visitor.sign_in(scene.organizer)
    assert seen(visitor, scene) == {Stage.META_TRAINING, Stage.META_TESTING}
    visitor.sign_in(scene.bob)
    path = f"/api/v1/submissions/{scene.submissions['finished'].id}/measures"
    assert visitor.client.get(path).status_code == 404


def test_the_stream_goes_on_where_the_page_ends_and_another_attempt_begins_anew(
    visitor: Visitor, scene: Scene
) -> None:
    visitor.sign_in(scene.ada)
    path = f"/submissions/{scene.submissions['finished'].id}"
    (last,) = re.findall(r'data-measured="(\d+)"', visitor.see(path))
    assert "event: measures" in visitor.client.get(f"{path}/stream").text
    assert "event: measures" not in visitor.client.get(f"{path}/stream?measured={last}").text
    with visitor.services.database.writing() as session:
        run = session.get_one(Run, run_of(visitor, scene, "finished").id)
        run.epoch = 2
        add_measures(session, run, testing=False)
    found = visitor.client.get(f"/api/v1{path}/measures").json()
    assert {one["epoch"] for one in found} == {2} and len(found) == 88
    assert len(charts_of(visitor.see(path))["Memory"]["at"]) == 40


def test_sent_twice_is_kept_once_and_it_goes_with_the_log(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        run = session.get_one(Run, run_of(visitor, scene, "finished").id)
        before = len(session.scalars(select(RunMeasure).where(RunMeasure.run_id == run.id)).all())
        add_measures(session, run)
        assert len(session.scalars(select(RunMeasure).where(RunMeasure.run_id == run.id)).all()) == before
        keep_measures(session, run, [])
        expire_logs(session, run.competition_id, days=0)
        left = set(session.scalars(select(RunMeasure.run_id)))
    assert left == {run_of(visitor, scene, "running").id}


def test_a_queued_run_promises_no_curves_where_none_may_be_shown(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    path = f"/submissions/{scene.submissions['queued'].id}"
    assert "Curves appear once" in visitor.see(path)
    change(visitor, scene, LogPolicy.NOTHING)
    assert "Curves appear once" not in visitor.see(path)


def test_a_run_of_half_a_second_has_no_charts(visitor: Visitor, scene: Scene) -> None:
    """One or two moments are no curve; while the run goes on, more may come."""
    failed = run_of(visitor, scene, "failed").id
    with visitor.services.database.writing() as session:
        for one in session.scalars(select(RunMeasure).where(RunMeasure.run_id == failed)):
            if one.seconds > 200:
                session.delete(one)
    visitor.sign_in(scene.ada)
    assert "How it ran" not in visitor.see(f"/submissions/{scene.submissions['failed'].id}")


def test_an_undefined_interval_is_not_drawn() -> None:
    chart = of_groups("By dataset", "Dataset", [Group("one", 0.5, None, 1), Group("two", 0.4, 0.1, 9)])
    (series,) = chart.data["series"]
    assert series["low"] == [None, pytest.approx(0.3)] and series["high"] == [None, pytest.approx(0.5)]
    assert [row[2] for row in chart.rows] == ["", "± 0.100"]


def test_many_tasks_are_drawn_evenly_by_rank() -> None:
    chart = of_tasks("Distribution", {"one": np.linspace(0, 1, 1000), "two": np.array([0.25])})
    first = [y for x, y in zip(chart.data["at"], chart.data["series"][0]["values"], strict=True) if x < 0.5]
    assert len(first) == MOST_DOTS and (min(first), max(first)) == (0, 1)
    assert chart.data["at"] == sorted(chart.data["at"]) and "evenly by rank" in chart.note
    assert chart.rows[1][-1] == 1


def test_the_library_is_what_its_authors_published_and_a_page_stays_light(
    live: LiveSite, visitor: Visitor, scene: Scene
) -> None:
    folder = FOLDER / "vendor" / "uplot"
    assert {path.name for path in folder.iterdir()} == set(UPLOT)
    for name, digest in UPLOT.items():
        if digest is not None:
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    visitor.sign_in(scene.ada)
    cookies = {name: str(value) for name, value in visitor.client.cookies.items()}

    def weigh(path: str) -> int:
        asked = {"accept-encoding": "gzip", "accept": "text/html"}
        with httpx.stream("GET", live.address + path, headers=asked, cookies=cookies, timeout=60) as answer:
            assert answer.status_code == 200
            return len(b"".join(answer.iter_raw()))

    page = f"/submissions/{scene.submissions['finished'].id}"
    text = httpx.get(live.address + page, headers={"accept": "text/html"}, cookies=cookies, timeout=60).text
    own = {*re.findall(r'(?:href|src)="(/static/(?:css|js|vendor)/[^"]+)"', text), "/static/js/site.js"}
    lazily = re.findall(r'data-(?:library|style)="\s*([^"]+)"', text)
    assert len(lazily) == 2 and not own & set(lazily)
    assert weigh(page) + sum(map(weigh, own | set(lazily))) < 100_000
    assert "uplot" not in visitor.see("/competitions").lower()  # only where charts are


def wait(browser: webdriver.Chrome, script: str) -> Any:
    return WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(f"return {script}"))


@pytest.mark.seconds("charts in a browser")
def test_charts_are_drawn_tell_values_and_grow_with_the_run(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("running"))
    figure = "document.querySelector('figure[data-key^=memory]')"
    browser.execute_script(f"{figure}.scrollIntoView()")
    wait(browser, f"{figure}.querySelector('canvas') !== null")
    assert not browser.execute_script(f"return {figure}.querySelector('details').open")
    points = f"JSON.parse({figure}.querySelector('[data-chart]').dataset.chart).at"
    before = browser.execute_script(f"return {points}")
    with live.services.database.writing() as session:
        run = session.scalars(
            select(Run).where(Run.submission_id == live.scene.submissions["running"].id)
        ).one()
        session.add(
            RunMeasure(
                run_id=run.id,
                epoch=1,
                seq=4_000,
                series=Series.RESOURCES,
                stage=Stage.META_TRAINING,
                seconds=4_321.0,
                width=100.0,
                memory_bytes=3 << 30,
            )
        )
        run.seconds_used += 1
    wait(browser, f"{points}.length === {len(before) + 1}")
    assert browser.execute_script(f"return {points}.at(-1)") == 4321.0
    legend = browser.execute_script(f"return {figure}.querySelector('.u-legend').innerText")
    assert legend.split() == ["Memory"], "values are told of the place under the pointer alone"
    over = browser.find_element(By.CSS_SELECTOR, "figure[data-key^=memory] .u-over")
    webdriver.ActionChains(browser).move_to_element(over).perform()
    wait(browser, f"/GiB/.test({figure}.querySelector('.u-legend').innerText)")
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []


def test_ways_and_shots_have_whole_numbers_at_their_axis(live: LiveSite, browser: webdriver.Chrome) -> None:
    noting = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": NOTE_FONTS})
    try:
        live.sign_in(browser, live.scene.ada)
        browser.get(live.path("finished"))
        ways = "[...document.querySelectorAll('figure')].find((one) => /Ways/.test(one.textContent))"
        browser.execute_script(f"{ways}.closest('details').open = true; {ways}.scrollIntoView()")
        wait(browser, f"{ways}.querySelector('canvas') !== null")
        browser.execute_script(
            f"const box = {ways}.querySelector('[data-chart]'), spec = JSON.parse(box.dataset.chart);"
            "spec.at = [2, 3, 4];"
            "for (const one of spec.series) for (const key of ['values', 'low', 'high']) one[key].length = 3;"
            "box.dataset.chart = JSON.stringify(spec); globalThis.labels.length = 0;"
            "document.documentElement.dataset.theme = 'dark';"
        )
        wait(browser, "globalThis.labels.some(([text]) => text === '3')")
        written = browser.execute_script("return globalThis.labels.map(([text]) => text)")
        assert not {"2.5", "3.5", "2.2", "2.4"} & set(written)
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", noting)


MANY_SERIES = """
const box = document.querySelector("figure:not([hidden]) [data-chart]");
const kind = { line: arguments[0], bare: false, steps: false, low: null, high: null };
const series = Array.from({ length: 13 }, (_, place) => (
  { ...kind, label: `learner ${place}`, values: [place, place + 1, place] }));
const spec = { ...JSON.parse(box.dataset.chart), series, at: [1, 2, 3], cells: null, limit: null };
box.dataset.chart = JSON.stringify({ ...spec, x: { kind: "number", label: "Shots" } });
globalThis.strokes = new Set();
const stroke = CanvasRenderingContext2D.prototype.stroke;
CanvasRenderingContext2D.prototype.stroke = function (...path) {
  globalThis.strokes.add(`${this.strokeStyle} ${this.getLineDash()} ${this.fillStyle} ${this.lineWidth}`);
  return stroke.apply(this, path);
};
document.documentElement.dataset.theme = arguments[1];
"""
LEGEND = """
return [...document.querySelectorAll("figure:not([hidden]) .u-series")].filter(
  (row) => row.textContent.startsWith("learner")).map((row) => {
    const marker = getComputedStyle(row.querySelector(".u-marker"));
    return [marker.background, marker.borderWidth, marker.borderColor, marker.width].join("; "); });
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_thirteen_learners_look_different_in_the_chart_and_in_its_legend(
    live: LiveSite, browser: webdriver.Chrome, theme: str
) -> None:
    """Colours came again after six: the seventh learner was drawn as the first one."""
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("finished"))
    until(browser, lambda here: here.find_elements(By.CSS_SELECTOR, "figure .u-legend"))
    browser.execute_script(MANY_SERIES, True, theme)
    until(browser, lambda here: len(here.execute_script(LEGEND)) == 13)
    lines = browser.execute_script("return [...strokes]")
    assert len(set(browser.execute_script(LEGEND))) == 13
    assert (
        len({line.rsplit(" ", 2)[0] for line in lines if line.startswith("#") and line.endswith(" 2")}) >= 13
    )
    browser.execute_script(MANY_SERIES, False, "dark" if theme == "light" else "light")
    until(browser, lambda here: "2px" in (here.execute_script(LEGEND) or [""])[0])
    assert len(set(browser.execute_script(LEGEND)[:12])) == 12, "points: two rounds of colours"


def test_the_curve_of_a_further_evaluation_is_drawn_where_it_is_known(
    live: LiveSite, browser: webdriver.Chrome, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (mixed([(0.7, 0.05), (0.6, None)]), mixed([(0.5, 0.05), (None, None)]))
    monkeypatch.setattr(pages, "of_submission", lambda *_: first)
    monkeypatch.setattr(pages, "faults_of_submission", lambda *_: [])
    monkeypatch.setattr(
        board_page, "of_board", lambda *asked: dict(zip(asked[3], (first, second), strict=False))
    )
    live.sign_in(browser, live.scene.ada)
    figure = "document.querySelector('#evaluation-mixtures figure')"
    board = f"{live.address}/competitions/{live.scene.competition.slug}/leaderboard"
    for address, lines in ((live.path("finished"), 1), (board, 2)):
        browser.get(f"{address}#evaluation-mixtures")  # which opens what it is folded into
        wait(browser, f"{figure}.querySelector('canvas') !== null")
        spec = json.loads(
            browser.execute_script(f"return {figure}.querySelector('[data-chart]').dataset.chart")
        )
        assert spec["at"] == [0, 0.5] and len(spec["series"]) == lines
        assert spec["series"][0]["values"] == [0.7, 0.6] and spec["series"][0]["high"][1] is None
        assert spec["series"][-1]["values"] == ([0.7, 0.6] if lines == 1 else [0.5, None])
        assert "0.600" in browser.execute_script(
            f"return {figure}.querySelector('.chart__table').textContent"
        )
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []


def mixed(values: list[tuple[float | None, float | None]]) -> list[PointScore]:
    """A submission's scores where base and novel classes are mixed: half of the classes, and none, are novel."""
    evaluation = evaluation_from_dict({"name": "mixtures", "steps": [0, 0.5]})
    roles = Roles(read_protocol("class_side side=novel images=all"))
    return [
        replace(PointScore.of(evaluation, point, None, ""), mean=mean, half_width=half, tasks=40)
        for point, (mean, half) in zip(evaluation.points(roles, ()), values, strict=True)
    ]


def test_without_javascript_the_tables_are_open(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    page = visitor.see(f"/submissions/{scene.submissions['finished'].id}")
    tables = re.findall(r'<details class="chart__table"( open)?>', page)
    assert tables and all(tables)
    memory = page[page.index('data-key="memory') :]
    assert "2.2 GiB" in memory[: memory.index("</figure>")]


def test_a_worker_tells_and_the_command_prints(site: Site, free_address: str) -> None:
    ada, worker = site.member("ada"), site.worker()
    entry = ada.submit().json()["id"]
    job = worker.claim()
    assert job is not None
    told = {"stage": "meta_training", "seconds": 12.0}
    used = told | {"cpu_cores": 1.5, "memory_bytes": 3 << 29}
    logged = told | {"series": "training", "seq": 1, "step": 25, "rows": 25, "loss": 1.25, "accuracy": 0.5}
    for _ in range(2):  # a beat whose answer was lost is sent again
        assert worker.beat(job, "meta_training", [used, logged]).status_code == 200
    assert worker.beat(job, "meta_training").status_code == 200  # as workers of the last release do
    with served(create_app(site.services.settings, site.services), int(free_address.rpartition(":")[2])):
        said = CliRunner().invoke(
            main, ["curves", entry, "--server", free_address, "--token", ada.token], catch_exceptions=False
        )
        table = CliRunner().invoke(
            main, ["curves", entry, "--csv", "--server", free_address, "--token", ada.token]
        )
    assert [line.split() for line in said.output.splitlines()] == [
        ["12", "s", "resources", "cores", "1.50,", "memory", "1.50", "GiB"],
        [
            "12",
            "s",
            "training",
            "25",
            "loss",
            "1.25,",
            "accuracy",
            "0.500,",
            "cores",
            "0.00,",
            "memory",
            "0.00",
            "GiB",
        ],
    ]
    rows = list(csv.DictReader(io.StringIO(table.output)))
    assert [row["series"] for row in rows] == ["resources", "training"] and rows[1]["loss"] == "1.25"


@pytest.fixture
def free_address() -> str:
    return f"http://127.0.0.1:{free_port()}"


def test_the_boards_history_is_drawn_with_the_first_teams_and_ones_own(
    visitor: Visitor, scene: Scene
) -> None:
    """The table says the same; a board that one may not see has no history."""
    board = f"/competitions/{scene.competition.slug}/leaderboard"
    with visitor.services.database.writing() as session:
        first = session.scalars(select(BoardChange).where(BoardChange.team_id == scene.team.id)).first()
        assert first is not None
        for days, value in ((9, 0.1), (5, 0.2)):
            session.add(
                BoardChange(
                    phase_version_id=first.phase_version_id,
                    league_id=first.league_id,
                    team_id=first.team_id,
                    submission_id=first.submission_id,
                    value=value,
                    at=first.at - timedelta(days=days),
                )
            )
        last = first.value
    forget_all()
    page = visitor.see(board)
    (spec,) = (json.loads(html.unescape(text)) for text in re.findall(r'data-chart="([^"]+)"', page))
    lines = {line["label"]: line["values"] for line in spec["series"]}
    assert "Best so far" in lines and len(lines) > 2 and spec["x"]["kind"] == "date"
    assert all(line["steps"] for line in spec["series"])  # a score stands until the next one
    own = lines[scene.team.name]
    assert own[0] == 0.1 and 0.2 in own and own[-1] == last and len(own) == len(spec["at"])
    assert spec["at"] == sorted(spec["at"])
    table = page.partition('<details class="chart__table" open>')[2].partition("</details>")[0]
    assert "0.200" in table and scene.team.name in table
    with visitor.services.database.writing() as session:
        session.get_one(Phase, scene.phase.id).scores_visible = False
    assert "data-chart" not in visitor.see(board)


def test_a_comparison_is_drawn_by_dataset_with_its_table_beside_it(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    ids = [scene.submissions[name].id for name in ("finished", "older")]
    page = visitor.see(f"/compare?id={ids[0]}&id={ids[1]}")
    (spec,) = (json.loads(html.unescape(text)) for text in re.findall(r'data-chart="([^"]+)"', page))
    names, (line,) = spec["x"]["names"], spec["series"]
    assert names and spec["limit"] == 0 and len(line["values"]) == len(names)
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    for name, value in zip(names, line["values"], strict=True):
        assert name in text and f"{value:.3f}".replace("-", "−") in text

"""Every table and figure of the five papers has its place: done, stands in, or not possible here and why."""

import importlib.util
import json
import re
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from anyshot_analysis.pages import ReportPage
from anyshot_core.baselines import find_baselines, merged_config
from anyshot_core.bundle.config import read_config
from anyshot_core.charts import Bar, draw_bars
from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import read_protocol
from anyshot_core.report.estimates import exact
from anyshot_studies.experiment.command import experiment
from anyshot_studies.reproduce import gaussians, papers
from anyshot_studies.reproduce.__main__ import NAMES
from anyshot_studies.reproduce.__main__ import main as study
from anyshot_studies.reproduce.command import reproduce
from benchmarks import figures
from benchmarks.baselines import __main__ as speed
from benchmarks.figures import Figure
from tests.baselines.trial import FOLDER
from tests.core.tinydata import write_pack

ITEMS = papers.read_items()
STEPS = [
    (f"{paper}, {name}, {size}", step)
    for (paper, name), item in ITEMS.items()
    for size in ("small", "full")
    for step in getattr(item, size)
    if not item.as_item
]


def test_the_table_lists_all_papers_and_counts_what_is_done() -> None:
    listed = CliRunner().invoke(reproduce, [])
    assert listed.exit_code == 0
    assert all(title in listed.output for title in papers.paper_titles().values())
    counted = re.search(
        r"(\d+) tables and figures: (\d+) done, (\d+) stands in, (\d+) not possible, (\d+) no result",
        listed.output,
    )
    assert counted is not None
    whole, *parts = map(int, counted.groups())
    assert whole == sum(parts) == len(ITEMS)
    rows = json.loads(CliRunner().invoke(reproduce, ["--json"]).output)
    assert all(row["state"] in papers.STATES for row in rows)
    assert all(bool(row["command"]) == (row["state"] in ("done", "stands in")) for row in rows)
    assert all(row["why"] for row in rows if row["state"] != "done"), "what is not as published says why"


# The last table and the last figure of each paper; of the first one only the text without its appendices is at hand.
LAST = {
    "metadl-2022": (0, 3),
    "two-sides": (6, 6),
    "lessons": (8, 8),
    "low-diversity": (3, 19),
    "evaluators": (4, 5),
}


@pytest.mark.parametrize("paper", papers.paper_titles())
def test_no_table_and_no_figure_is_left_out(paper: str) -> None:
    listed = {"table": [], "figure": []}
    for of, name in ITEMS:
        if of == paper:
            kind, first, last = re.fullmatch(r"(table|figure)s? (\d+)(?: (?:to|and) (\d+))?", name).groups()  # type: ignore[union-attr]
            listed[kind] += range(int(first), int(last or first) + 1)
    tables, figures = LAST[paper]
    missing = {"evaluators": [1]}.get(paper, [])  # not in our text of the paper
    assert sorted(listed["table"]) == list(range(1, tables + 1))
    assert sorted(listed["figure"] + missing) == list(range(1, figures + 1))


@pytest.mark.parametrize(("name", "step"), STEPS, ids=[name for name, _ in STEPS])
def test_commands_are_ones_that_the_program_has(name: str, step: tuple[str, ...]) -> None:
    """Options, protocols, evaluations and baselines are read as they would be; nothing is run."""
    command = experiment.commands[step[1]]
    context = command.make_context(step[1], list(step[2:]), resilient_parsing=False)
    assert isinstance(context, click.Context)
    names = context.params.get("names")
    if names:
        found = find_baselines(names, FOLDER)
        settings = context.params["settings"]
        assert any(settings in one.overlays() for one in found if hasattr(one, "overlays")), name


def test_full_size_settings_hold_no_dataset_out_where_the_paper_has_one() -> None:
    """miniImageNet and its like: three datasets held out would end each run before its first step."""
    tried = 0
    for (paper, _), item in ITEMS.items():
        for step in item.full if paper != "metadl-2022" else ():
            context = experiment.commands[step[1]].make_context(step[1], list(step[2:]))
            for name in context.params.get("names", ()):
                if (FOLDER / name / f"{context.params['settings']}.json").is_file():
                    config = merged_config(FOLDER / name, context.params["settings"])
                    read_config(json.dumps(config).encode(), 1)
                    tried += 1
    assert tried > 10


def test_studies_are_there() -> None:
    for item in ITEMS.values():
        if item.study:
            assert item.study in NAMES
            module = f"anyshot_studies.reproduce.{item.study.replace('-', '_')}"
            assert importlib.util.find_spec(module) is not None


@pytest.mark.seconds("a study of each paper")
def test_an_item_is_reproduced_by_one_command(tmp_path: Path) -> None:
    done = CliRunner().invoke(reproduce, ["low-diversity", "Table 3", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "low-diversity" / "table-3" / "hellinger" / "result.json").read_text())
    assert result["analysis"] == "reproduce-hellinger"
    shown = CliRunner().invoke(
        reproduce, ["metadl-2022", "figure 3", "--full", "--show", "-o", str(tmp_path)]
    )
    assert (
        shown.exit_code == 0 and "--settings pretrained" in shown.output and "experiment join" in shown.output
    )


def test_a_study_stands_in_for_what_takes_a_gpu_whose_command_is_the_full_size() -> None:
    """On images MAML and the union's network are trained by the settings that hold the paper's values."""
    small, full = (
        CliRunner().invoke(reproduce, ["low-diversity", "table 2", "--show", *more]).output
        for more in ([], ["--full"])
    )
    assert "reproduce initialization" in small and "experiment" not in small
    assert "experiment baselines maml supervised_baseline" in full and "--settings diversity" in full


def test_unseen_writers_and_pairs_stand_in_with_the_papers_size_beside_them() -> None:
    """Tables 1 and 5 are of one study; what the generated images allow nobody to conclude is said before it runs."""
    for item in ("table 1", "table 5"):
        small, full = (
            CliRunner().invoke(reproduce, ["two-sides", item, "--show", *more]).output
            for more in ([], ["--full"])
        )
        assert "no accuracy and no order there follows" in small
        assert (
            "reproduce in-distribution --out anyshot-reproduced/two-sides/" in small and "--full" not in small
        )
        assert full.rstrip().endswith("--full")


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.seconds("a command in a process of its own")
def test_make_reproduce_prints_the_table() -> None:
    told = subprocess.run(
        ["make", "--assume-old=.venv/.ready", "reproduce"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines() == papers.as_lines()


def test_the_benchmark_of_the_baselines_prints_the_table_and_then_measures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def measured(_: Path, side: int, *__: object) -> list[Figure]:
        assert papers.as_lines()[-1] in capsys.readouterr().out
        return [Figure(f"{side} px", 1.0, "tasks/s", "", None)]

    monkeypatch.setattr(speed, "make_demo_data", lambda *_, **__: tmp_path)
    monkeypatch.setattr(speed, "pack_dataset", lambda *_: None)
    monkeypatch.setattr(speed, "measure_side", measured)
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["benchmarks.baselines", "--sides", "32"])
    speed.main()
    assert json.loads((tmp_path / "baselines.json").read_text())["figures"][0]["name"] == "32 px"


def page() -> ReportPage:
    one = exact("x", 1.0, "points", "nothing")
    chart = draw_bars([Bar("x", 1.0)], "x", "x")
    return ReportPage(
        "reproduce-gaussians", "title", "finding", "population", [one], [chart], table={"x": [1.0]}
    )


def test_a_study_that_has_the_papers_size_takes_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown = CliRunner().invoke(reproduce, ["low-diversity", "figure 4", "--full", "--show"])
    assert shown.exit_code == 0 and shown.output.rstrip().endswith(
        "gaussians --out anyshot-reproduced/low-diversity/figure-4 --full"
    )
    sizes = []
    monkeypatch.setattr(
        gaussians, "make", lambda material, size=gaussians.SMALL: sizes.append(size) or page()
    )
    for more in ([], ["--full"]):
        assert CliRunner().invoke(study, ["gaussians", "--out", str(tmp_path), *more]).exit_code == 0
    assert sizes == [gaussians.SMALL, gaussians.Size(14_000, 100, 500)]
    stored = json.loads((tmp_path / "gaussians" / "result.json").read_text())
    assert stored["manifest"]["parameters"] == {"name": "gaussians", "full": True}
    refused = CliRunner().invoke(study, ["svcca", "--out", str(tmp_path), "--full"])
    assert refused.exit_code == 2 and "one size" in refused.output


@pytest.mark.seconds("a study of a paper")
def test_a_study_writes_which_settings_of_the_paper_it_meets(tmp_path: Path) -> None:
    assert CliRunner().invoke(study, ["hellinger", "--out", str(tmp_path)]).exit_code == 0
    stored = json.loads((tmp_path / "hellinger" / "result.json").read_text())
    assert stored["result"]["conditions"] == {
        "the paper's Gaussian benchmarks": {"met": True, "found": "the same"}
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere", "table 1"], "there are metadl-2022"),
        (["two-sides", "table 9"], "has no"),
        (["lessons", "figure 5"], "not possible here: CIFAR-FS"),
        (["two-sides", "table 4"], "prints no result: settings `two-sides`"),
        (["two-sides"], "Name a table or figure too"),
        (["low-diversity", "table 3", "--full"], "one size"),
    ],
)
def test_what_cannot_be_reproduced_is_told(words: list[str], said: str) -> None:
    refused = CliRunner().invoke(reproduce, words)
    assert refused.exit_code == 2 and said in " ".join(refused.output.split())


def test_small_splits_leave_enough_classes_of_a_dataset_of_five(tmp_path: Path) -> None:
    """As the smallest of Meta-Album has: of half and quarters one would be novel, and nothing ran on real data."""
    pool = Pool([Pack.open(write_pack(tmp_path, "FIVE", classes=5, images=20))])
    steps = {step for item in papers.read_items().values() for step in item.small if "--protocol" in step}
    assert steps
    for step in steps:
        for option in ("--protocol", "--train-protocol"):
            read_protocol(step[step.index(option) + 1]).check(pool)

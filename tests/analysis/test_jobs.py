"""Analyses as the worker and the commands run them, on small packs and tables."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner

from anyshot_analysis.backbones import UnknownBackbone, make_backbone
from anyshot_analysis.cli import analyse
from anyshot_analysis.features import extract_pack
from anyshot_analysis.jobs import JOBS, BadAnalysis, digest, options, run
from anyshot_analysis.jobs.registry import again, read_parameters
from anyshot_analysis.pages import PageTable, ReportPage, write_report
from anyshot_analysis.undefined import Undefined
from anyshot_core.data.pack import Pack, pack_dataset
from anyshot_core.demo_data import make_demo_data
from anyshot_core.evaluations import PointScore
from anyshot_core.report.estimates import exact
from anyshot_core.results import write_results
from anyshot_core.wire.reports import ANALYSIS_VERSION
from anyshot_scoring.table import TaskTable
from tests.analysis.test_predictions_of_runs import write_runs
from tests.services.material import TRAIN

FILES = {"page.html", "result.json", "figures.json", "table.parquet"}
ONE = [exact("size", 3, "tasks", "these tasks")]
METRICS = (
    "normalized_accuracy",
    "balanced_accuracy",
    "accuracy",
    "macro_f1",
    "macro_precision",
    "macro_recall",
)
UNITLESS = re.compile(r"(?!.*\(points\)).*(accuracy|error|difference a|gain)", re.IGNORECASE)
SMALL: dict[str, dict[str, Any]] = {
    "audit": {"protocol": {"name": "fixed", "ways": 3, "shots": 1, "query": 1}, "tasks": 40},
    "plan": {},
    "diversity": {
        "tasks": 5,
        "floor_tasks": 2,
        "probe": "conv4-4",
        "protocol": {"name": "fixed", "ways": 3, "shots": 3, "query": 3},
    },
    "shift": {
        "backbone": "conv4-4",
        "ways": 2,
        "shots": 2,
        "query": 2,
        "tasks": 6,
        "heads": ["protonet", "r2d2"],
    },
    "task-trust": {
        "backbone": "pixels",
        "ways": 3,
        "shots": 2,
        "query": 4,
        "tasks": 12,
        "heads": ["protonet", "r2d2"],
    },
    "gaussian": {"width": 4, "iterations": 3, "tasks": 6},
    "flips": {"replicates": 1000},
    "compare": {},
    "difficulty": {},
    "representations": {},
    "snapshots": {},
    "predictor-trust": {},
    "calibration": {},
    "submission-shift": {},
    "feature-diversity": {"permutations": 100},
    "n-way-flips": {"draws": 1000},
    "class-flips": {"backbone": "pixels", "sizes": [3], "ways": 2, "shots": 2, "query": 2, "tasks": 2},
    "baseline-cv": {"backbone": "pixels", "ways": 2, "shots": 3, "query": 2, "tasks": 6},
    "selection": {"replicates": 200},
    "mixtures": {},
    "fixml": {"networks": [[6]], "episodes": 6, "ways": 2, "shots": 2, "tasks": 4},
}


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("packs")
    data = make_demo_data(folder / "demo", classes=8, images=50, datasets=TRAIN)  # FIX-ML sets images aside
    return [pack_dataset(data / name, folder).path for name in TRAIN]


@pytest.fixture(scope="module")
def inputs(packs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    folder, rng = tmp_path_factory.mktemp("inputs"), np.random.default_rng(0)
    skill = rng.normal(0.5, 0.1, 120)
    for name, lead in (("ours", 0.05), ("theirs", 0.0)):
        score = skill + lead + 0.02 * rng.normal(size=120)
        names = np.array(["A", "B", "C"] * 40)
        columns: dict[str, Any] = {"task": np.arange(120), "dataset": names, "domain": names}
        columns |= {"ways": np.tile([5, 10], 60), "shots": np.full(120, 5), "queries": np.full(120, 100)}
        columns |= dict.fromkeys(METRICS, score) | {
            "fit_seconds": np.zeros(120),
            "predict_seconds": np.zeros(120),
        }
        write_results(
            folder / f"{name}.parquet", TaskTable.from_columns(columns), {"who": name, "tasks": 120}
        )
        np.savez(folder / f"{name}.npz", head=rng.normal(size=(90, 4)), body=rng.normal(size=(20, 3, 4, 4)))
    torch.save(make_backbone("conv4-4", 32, seed=7).network.state_dict(), folder / "weights.pt")
    (folder / "curves").mkdir()
    told, both = rng.uniform(size=40), rng.uniform(size=(2, 3, 30))
    np.savez(folder / "curves" / "estimates.npz", accuracy=told, k_fold=told + 0.1, hold_out=told)
    write_stated(folder / "curves" / "probabilities.npz")
    np.savez(folder / "curves" / "choices.npz", novel=both[0], validation=both[1])
    points = [
        PointScore(name, name, "lambda", name, name, at, 0.6 - at / 5, 0.05, 30)
        for name, at in (
            ("base", 0.0),
            ("novel", 1.0),
            ("mixtures", 0.0),
            ("mixtures", 0.5),
            ("mixtures", 1.0),
        )
    ]
    np.savez(
        folder / "curves" / "layers.npz",
        features=rng.normal(size=(24, 5)),
        image_dataset=np.repeat([0, 1, 2], 8),
        image_class=np.tile([0, 1], 12),
    )
    (folder / "predicted").mkdir()
    answered, predicted = write_runs(folder / "predicted")
    (folder / "curves" / "evaluations.json").write_text(json.dumps([one.to_dict() for one in points]))
    write_snapshots(folder / "curves" / "run.npz")
    return {
        "curves": [folder / "curves" / "run.npz"],
        "weights": [folder / "weights.pt"],
        "estimates": [folder / "curves" / "estimates.npz"],
        "probabilities": [folder / "curves" / "probabilities.npz"],
        "choices": [folder / "curves" / "choices.npz"],
        "layers": [folder / "curves" / "layers.npz"],
        "answered": answered,
        "predicted": predicted,
        "evaluations": [folder / "curves" / "evaluations.json"],
        "meta_test": packs,
        "results": sorted(folder.glob("*.parquet")),
        "arrays": sorted(folder.glob("*.npz")),
    }


def write_snapshots(path: Path, **others: np.ndarray) -> None:
    """Four snapshots: base classes get better and better, new ones best at the second."""
    tasks = 0.02 * np.random.default_rng(0).normal(size=200)
    scores = {
        "base": (0.5, 0.6, 0.7, 0.8),
        "validation": (0.4, 0.5, 0.45, 0.3),
        "novel": (0.42, 0.48, 0.44, 0.3),
    }
    arrays = {name: np.array(means)[:, None] + tasks for name, means in scores.items()}
    np.savez(path, **{"train_loss": np.array([1.0, 0.5, 0.2, 0.1]), **arrays, **others})


def write_stated(path: Path, tasks: int = 20, **others: Any) -> None:
    """Probabilities of 5-way tasks with ten query images each, right as often as they say."""
    rng = np.random.default_rng(4)
    rows = rng.dirichlet(np.ones(5), 10 * tasks).astype(np.float32)
    label = np.array([rng.choice(5, p=row.astype(float) / row.astype(float).sum()) for row in rows])
    arrays = {"task": np.arange(tasks), "dataset": np.arange(tasks) % 2, "label": label}
    arrays |= {"ways": np.full(tasks, 5), "queries": np.full(tasks, 10), "predicted": rows.argmax(axis=1)}
    np.savez(path, **{**arrays, "probabilities": rows.ravel(), **others})


def settings_of(name: str, inputs: dict[str, list[Path]]) -> dict[str, Any]:
    """Small settings; the shift report takes trained weights only."""
    return SMALL[name] | ({"weights": str(inputs["weights"][0])} if name == "shift" else {})


def given(name: str, inputs: dict[str, list[Path]]) -> dict[str, list[Path]]:
    snapshots = {"snapshots": inputs["curves"]}
    own = {name: inputs[name] for name in ("estimates", "probabilities", "evaluations")}
    special = {
        "snapshots": snapshots,
        "selection": {"arrays": inputs["choices"]},
        "feature-diversity": {"arrays": inputs["layers"]},
        "n-way-flips": {"results": inputs["answered"], "predictions": inputs["predicted"]},
    }
    return ({"plan": {}, "gaussian": {}, "mixtures": {}} | special).get(name, inputs | own)


@pytest.mark.seconds("whole reports, twice")
@pytest.mark.rotating
@pytest.mark.parametrize("name", JOBS)
def test_every_analysis_writes_the_same_bytes_twice(
    name: str, inputs: dict[str, list[Path]], tmp_path: Path
) -> None:
    summary = run(name, given(name, inputs), settings_of(name, inputs), tmp_path / "0")
    weights = inputs["weights"][0] if name == "shift" else None
    assert again(tmp_path / "0", given(name, inputs), tmp_path / "1", weights), "made again from what it says"
    assert {p.name for p in (tmp_path / "0").iterdir()} == FILES
    for file in FILES:
        assert (tmp_path / "0" / file).read_bytes() == (tmp_path / "1" / file).read_bytes(), file
    stored = json.loads((tmp_path / "0" / "result.json").read_text())
    assert stored == json.loads(json.dumps(summary))
    assert stored["analysis"] == name
    settings = set(options.settings_of(JOBS[name].load()[0]))
    assert set(stored["manifest"]["parameters"]) == settings - {"cache"}, "seeds too"
    assert len(stored["finding"]) > 20
    assert len(stored["population"]) > 5
    charts = json.loads((tmp_path / "0" / "figures.json").read_text())["charts"]
    axes = [chart.get("axis", "") for chart in charts]
    assert not [axis for axis in axes if UNITLESS.match(axis)], "charts have the unit of the tables: points"
    page = (tmp_path / "0" / "page.html").read_text()
    assert page.index("<svg") < page.index("<table")  # pictures first
    assert "<script" not in page
    assert pq.read_table(tmp_path / "0" / "table.parquet").num_rows > 0


def test_a_report_made_again_takes_the_same_weights_and_names_no_folder(
    inputs: dict[str, list[Path]], tmp_path: Path
) -> None:
    run("shift", inputs, settings_of("shift", inputs) | {"cache": str(tmp_path / "kept")}, tmp_path / "a")
    stored = (tmp_path / "a" / "result.json").read_text()
    assert str(tmp_path) not in stored and str(inputs["weights"][0].parent) not in stored
    with pytest.raises(BadAnalysis, match=r"took the weights weights\.pt: give their file"):
        again(tmp_path / "a", inputs, tmp_path / "b")
    other = tmp_path / "weights.pt"
    torch.save(make_backbone("conv4-4", 32, seed=8).network.state_dict(), other)
    with pytest.raises(BadAnalysis, match="not those of the report"):
        again(tmp_path / "a", inputs, tmp_path / "b", other)


def test_a_renamed_file_is_no_difference_and_another_row_is(
    inputs: dict[str, list[Path]], tmp_path: Path
) -> None:
    run("compare", {"results": inputs["results"]}, {}, tmp_path / "a")
    moved = [Path(shutil.copy(path, tmp_path / f"moved-{path.name}")) for path in inputs["results"]]
    assert again(tmp_path / "a", {"results": moved}, tmp_path / "b")
    table = pq.read_table(tmp_path / "a" / "table.parquet")
    pq.write_table(table.slice(1), tmp_path / "a" / "table.parquet")
    assert not again(tmp_path / "a", {"results": moved}, tmp_path / "a"), (
        "also where it is written over itself"
    )


def test_a_verdict_and_a_ranking_say_what_the_tables_hold(
    inputs: dict[str, list[Path]], tmp_path: Path
) -> None:
    found = run("compare", inputs, {}, tmp_path / "compare")
    assert found["result"]["verdict"] == "different"
    assert found["result"]["difference"] == pytest.approx(0.05, abs=0.01)
    assert (
        "ours leads a board of 2 submissions"
        in run("flips", inputs, SMALL["flips"], tmp_path / "flips")["finding"]
    )


def test_a_page_says_its_title_once_and_a_reason_once_below_its_table(tmp_path: Path) -> None:
    """Two reasons in three cells are two sentences, and marks tie cells to them."""
    one, two = Undefined("no variance"), Undefined("one task")
    table = PageTable("Found", ("a", "b"), [[one, 1.0], [one, 2], [two, "x"]])
    write_report(ReportPage("plan", "How large", "A finding.", "tasks", ONE, listings=[table]), tmp_path)
    page = (tmp_path / "page.html").read_text()
    assert page.count(">How large<") == 2  # the window's title and the heading
    assert page.count("no variance") == 1 and page.count("one task") == 1
    assert page.count("<td>* undefined</td>") == 2 and page.count("<td>** undefined</td>") == 1
    assert "<p>** undefined: one task.</p>" in page


def test_advice_on_snapshots(inputs: dict[str, list[Path]], tmp_path: Path) -> None:
    found = run("snapshots", {"snapshots": inputs["curves"]}, {}, tmp_path)["result"]
    assert found["advised"] == 2
    assert found["rules"] == {"last": 4, "lowest training loss": 4, "best BaseGen": 4, "best ValGen": 2}
    assert found["novel_lost"]["best BaseGen"] == pytest.approx(0.18)
    assert found["novel_lost"]["best ValGen"] == 0
    assert found["tau_b"]["base and validation"] == pytest.approx(-1 / 3)
    write_snapshots(tmp_path / "bad.npz", validation=np.zeros((3, 5)))
    with pytest.raises(BadAnalysis, match=r"validation is to be \[4 snapshots, tasks\]"):
        run("snapshots", {"snapshots": [tmp_path / "bad.npz"]}, {}, tmp_path)


def test_one_shot_tasks_are_reported_as_not_estimable(inputs: dict[str, list[Path]], tmp_path: Path) -> None:
    found = run("task-trust", inputs, {**SMALL["task-trust"], "shots": 1}, tmp_path)
    assert "not estimable" in found["finding"]
    assert "not estimable" in found["result"]["errors"]["undefined"]


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("nothing", {}, "unknown analysis 'nothing'"),
        ("plan", {"leads": 1}, "no parameter leads"),
        ("plan", {"lead": "much"}, "lead"),
        ("plan", {"lead": -1}, "positive"),
        ("flips", {"replicates": 10}, "1,000 replicates"),
        ("flips", {}, "takes results of runs .*: found none"),
        ("fixml", {"seeds": 2}, "three seeds"),
    ],
)
def test_bad_requests_are_refused_in_words(
    name: str, parameters: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(BadAnalysis, match=words):
        run(name, {}, parameters, tmp_path)


def test_the_cache_key_follows_inputs_and_parameters_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    key = digest("plan", {"results": ["a", "b"]}, {"lead": 0.02})
    assert key == digest(
        "plan", {"results": ["a", "b"]}, {"lead": 0.02, "flip": 0.05}
    )  # a default is no difference
    others = [("plan", ["b", "a"], 0.02), ("plan", ["a", "b"], 0.03)]
    assert key not in {digest(n, {"results": files}, {"lead": lead}) for n, files, lead in others}
    assert read_parameters("plan", {"lead": "0.5"})[1].lead == 0.5
    monkeypatch.setattr("anyshot_analysis.jobs.registry.ANALYSIS_VERSION", ANALYSIS_VERSION + 1)
    assert digest("plan", {"results": ["a", "b"]}, {"lead": 0.02}) != key


def test_commands_run_an_analysis_and_explain_themselves(
    inputs: dict[str, list[Path]], tmp_path: Path
) -> None:
    runner = CliRunner()
    files = [str(p) for p in inputs["results"]]
    found = runner.invoke(analyse, ["compare", *files, "--out", str(tmp_path / "r"), "--margin", "0.2"])
    assert found.exit_code == 0, found.output
    assert "equivalent" in found.output
    assert (tmp_path / "r" / "page.html").exists()
    packs = [str(p) for p in inputs["meta_test"]]
    found = runner.invoke(analyse, ["audit", *packs, "--tasks", "30", "--out", str(tmp_path / "a")])
    assert found.exit_code == 0, found.output
    bad = runner.invoke(analyse, ["compare", files[0]])
    assert bad.exit_code == 1
    assert "takes the results of two runs" in bad.output
    listed = runner.invoke(analyse, ["--help"]).output
    assert all(name in listed for name in JOBS)
    assert "--margin" in runner.invoke(analyse, ["compare", "--help"]).output


def test_the_guide_names_every_analysis_and_whose_it_is() -> None:
    text = (Path(__file__).parents[2] / "docs/science/evaluation.md").read_text()
    assert [name for name in JOBS if f"`{name}`" not in text] == []
    theirs = text[text.index("Organizers' reports (") :].partition(")")[0]
    own = re.findall("`([a-z-]+)`", theirs)
    assert own == [name for name, job in JOBS.items() if job.audience == "organizer"]


def _never(*_: Any) -> None:
    raise AssertionError("the network was asked")


def test_features_are_extracted_once_and_follow_the_weights(packs: list[Path], tmp_path: Path) -> None:
    pack, calls = Pack.open(packs[0]), []
    one, other = make_backbone("conv4-4", 32, seed=0), make_backbone("conv4-4", 32, seed=1)
    first = extract_pack(pack, one, tmp_path, calls.append)
    np.testing.assert_allclose(first[:5], one.extract(pack.images[:5]), atol=1e-5)
    assert isinstance(first, np.memmap)
    assert sum(calls) == len(pack)
    one.network.register_forward_pre_hook(_never)  # a cached pack never reaches the network
    np.testing.assert_array_equal(extract_pack(pack, one, tmp_path), first)
    assert (extract_pack(pack, other, tmp_path) != first).any()
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(UnknownBackbone):
        make_backbone("no-such-network")

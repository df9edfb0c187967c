"""`anyshot experiment baselines` from the command line, and the findings' arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from anyshot_scoring.table import COLUMNS, STRINGS, TaskTable
from anyshot_starting_kit.cli.experiment import experiment
from anyshot_starting_kit.data.pack import Pack
from anyshot_starting_kit.data.pool import Pool
from anyshot_starting_kit.dryrun.publicdata import PublicData
from anyshot_starting_kit.experiment.bundles import NoBaseline, find_baselines, merged_config, overlay
from anyshot_starting_kit.experiment.carry_out import Done
from anyshot_starting_kit.experiment.findings import find
from anyshot_starting_kit.experiment.plan import Experiment
from anyshot_starting_kit.protocols import WithinDomain
from tests.baselines.trial import FOLDER
from tests.services.material import TEST, TRAIN


def table(scores: np.ndarray) -> TaskTable:
    """A run on two datasets, with ways 2 to 6 in turn and that score each task."""
    n = len(scores)
    columns = {
        name: np.array(["A", "B"])[np.arange(n) % 2] if name in STRINGS else scores for name in COLUMNS
    }
    whole = {"task": np.arange(n), "ways": 2 + np.arange(n) % 5, "shots": 1 + np.arange(n) % 3}
    return TaskTable.from_columns({**columns, **whole, "queries": np.full(n, 20)})


def test_command_runs_and_goes_on(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """Tables, figures and page are there; a second call runs nothing again and gives the same tables."""
    pool = next(iter(demo_packs.values())).parent
    words = [
        "baselines",
        "random",
        "nearest-prototype",
        "--pool",
        str(pool),
        "--seeds",
        "1,2",
        "--tasks",
        "6",
    ]
    words += [word for name in TRAIN for word in ("--train", name)]
    words += [word for name in TEST for word in ("--test", name)]
    words += ["--ways", "2-5", "--shots", "1-4", "--query", "5", "-o", str(tmp_path)]
    first = CliRunner().invoke(experiment, words)
    assert first.exit_code == 0, first.output
    rows = json.loads((tmp_path / "scores.json").read_text())
    assert {row["by"] for row in rows} == {"all", "dataset", "domain", "ways", "shots"}
    best = {row["baseline"]: row["mean"] for row in rows if row["by"] == "all"}
    assert list(best) == ["nearest_prototype", "random"] and best["nearest_prototype"] > 0.1
    assert pq.read_table(tmp_path / "scores.parquet").num_rows == len(rows)
    assert (tmp_path / "bars.svg").read_text().startswith("<?xml")
    page = (tmp_path / "index.html").read_text()
    assert "Findings" in page and page.count("<svg") == 4
    again = CliRunner().invoke(experiment, words)
    assert again.exit_code == 0 and again.output.count("(done before)") == 4
    assert json.loads((tmp_path / "scores.json").read_text()) == rows


def test_within_domain_runs(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """Each dataset is trained and tested on by itself, with other classes; the table has the tasks of all."""
    pool = str(next(iter(demo_packs.values())).parent)
    words = ["baselines", "random", "nearest-prototype", "--pool", pool, "--seeds", "1", "--tasks", "12"]
    words += [word for name in TRAIN for word in ("--train", name)]
    words += [word for name in TEST for word in ("--test", name)]
    words += ["--ways", "2-4", "--shots", "1-4", "--query", "5", "--cpus", "1", "-o", str(tmp_path)]
    found = CliRunner().invoke(experiment, [*words, "--within", "halves"])
    assert found.exit_code == 0, found.output
    assert all(f"[{i}/4]" in found.output for i in range(1, 5)) and f", {TEST[0]}" in found.output
    rows = {(r["baseline"], r["by"], r["key"]): r for r in json.loads((tmp_path / "scores.json").read_text())}
    assert rows["random", "all", "all"]["tasks"] == 24
    assert {key for name, by, key in rows if by == "dataset"} == set(TEST)
    assert rows["nearest_prototype", "all", "all"]["mean"] > rows["random", "all", "all"]["mean"] + 0.05
    assert "each within itself (halves)" in (tmp_path / "index.html").read_text()
    refused = CliRunner().invoke(experiment, [*words, "--within", "70/15/15", "--ways", "5"])
    assert refused.exit_code == 2 and "No dataset can be split (70/15/15)" in refused.output


def test_within_domain_training_sees_no_test_class(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """The pack that a run within a dataset trains on has the other half of its classes only."""
    data = PublicData((demo_packs[TRAIN[0]],), (demo_packs[TEST[0]],), generated=True)
    plan = Experiment((find_baselines(("random",), FOLDER)[0],), data, tmp_path, (1,), 4, within="halves")
    run = plan.runs()[0].plan(tmp_path / "bundle.zip")
    trained, tested = Pack.open(run.data.train[0]), Pack.open(run.data.test[0])
    assert isinstance(run.protocol, WithinDomain)
    hidden = {tested.classes[c] for c in run.protocol.classes(Pool([tested]), 0)}
    assert len(hidden) == len(trained.classes) == 4 and hidden.isdisjoint(trained.classes)


def test_findings_say_what_the_numbers_say() -> None:
    """A lead of 0.1 on every task holds, its reverse does not, noise is undecided, and the rest is not tested."""
    random = np.random.default_rng(0)
    done = []
    for seed in (1, 2, 3):
        floor = 0.5 - 0.05 * (np.arange(40) % 5) + random.normal(0, 0.02, 40)
        done.append(Done("train_from_scratch", seed, table(floor), 1.0))
        done.append(Done("prototypical_networks", seed, table(floor + 0.1 + random.normal(0, 0.02, 40)), 1.0))
        done.append(Done("matching_networks", seed, table(floor - 0.1 + random.normal(0, 0.02, 40)), 1.0))
        done.append(Done("fine_tuning", seed, table(floor + random.normal(0, 0.05, 40)), 1.0))
    verdicts = {part.claim: part.verdict for part in find(done)}
    assert verdicts["prototypical networks is above train from scratch"] == "holds"
    assert verdicts["matching networks is above train from scratch"] == "does not hold"
    assert verdicts["fine tuning is above train from scratch"] == "undecided"
    assert verdicts["fine tuning is above nearest prototype"] == "not tested"
    assert verdicts["train from scratch: normalized accuracy falls with the ways"] == "holds"


def test_a_failed_run_is_left_out() -> None:
    """A baseline that failed on a seed is compared with nobody."""
    done = [Done("random", 1, table(np.zeros(6)), 1.0), Done("fine_tuning", 1, None, 1.0, "TIME_LIMIT")]
    assert [part.verdict for part in find(done)] == ["not tested"]


def test_baselines_are_found_by_name() -> None:
    """With hyphens as competition bundles write them; an unknown one lists those that there are."""
    assert find_baselines(("fo-maml",), FOLDER)[0].source == FOLDER / "fo_maml"
    assert len(find_baselines((), FOLDER)) == 17
    with pytest.raises(NoBaseline, match="there are baseline_cv"):
        find_baselines(("absent",), FOLDER)


def test_overlays_merge() -> None:
    """Objects key by key; a bundle without settings gets none."""
    assert overlay({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}, "d": 4}) == {"a": {"b": 1, "c": 3}, "d": 4}
    paper = merged_config(FOLDER / "prototypical_networks", "paper")
    assert paper["train_config"] == {"N": 5, "k": 10, "query_images_per_class": 20}
    assert paper["method"]["backbone"] == "resnet18" and paper["method"]["iterations"] == 30_000
    assert "method" not in merged_config(FOLDER / "random", "", {"method": {"iterations": 1}})

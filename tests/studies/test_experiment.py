"""`anyshot experiment baselines` from the command line."""

import html
import json
import shlex
import shutil
import threading
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from anyshot_core.baselines import (
    find_baselines,
)
from anyshot_core.data.pack import Pack
from anyshot_core.data.part import write_part
from anyshot_core.data.pool import Pool
from anyshot_core.protocols import Range, WithinDomain
from anyshot_core.taskserver.job import Hooks
from anyshot_starting_kit.dryrun.evaluate import DryRun, DryRunPlan, carry_out
from anyshot_starting_kit.dryrun.parts import shown_packs
from anyshot_starting_kit.dryrun.publicdata import NoData, PublicData, find_public_data
from anyshot_studies.experiment import carry_out as carry_out_module
from anyshot_studies.experiment.command import experiment
from anyshot_studies.experiment.plan import Experiment
from tests.baselines.trial import FOLDER
from tests.core.tinydata import write_pack
from tests.services.material import TEST, TRAIN
from tests.studies.test_experiment_checks import own


@pytest.mark.slow("runs of which each imports torch")
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
    assert "Findings" in page and page.count("<svg") == page.count("<figcaption>") == 4
    assert shlex.join(["anyshot", "experiment", *words]) in html.unescape(page)
    assert ", ".join(TEST) in page and "5 images a class" in page and "18000 seconds a run" in page
    assert all(f"<th>{name}</th>" in page for name in TEST) and "Paired differences" in page
    again = CliRunner().invoke(experiment, words)
    assert again.exit_code == 0 and again.output.count("(done before)") == 4
    assert json.loads((tmp_path / "scores.json").read_text()) == rows


@pytest.mark.slow("runs of which each imports torch")
def test_within_domain_runs(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """Each dataset is trained and tested on by itself, with other classes; the table has the tasks of all."""
    pool = str(next(iter(demo_packs.values())).parent)
    words = ["baselines", "random", "nearest-prototype", "--pool", pool, "--seeds", "1", "--tasks", "12"]
    words += [word for name in TEST for word in ("--test", name)]
    words += ["--ways", "2-4", "--shots", "1-4", "--query", "5", "--cpus", "1", "-o", str(tmp_path)]
    found = CliRunner().invoke(experiment, [*words, "--within", "halves"])
    assert found.exit_code == 0, found.output
    assert all(f"[{i}/4]" in found.output for i in range(1, 5)) and f", {TEST[0]}" in found.output
    rows = {(r["baseline"], r["by"], r["key"]): r for r in json.loads((tmp_path / "scores.json").read_text())}
    assert rows["random", "all", "all"]["tasks"] == 24
    assert {key for _, by, key in rows if by == "dataset"} == set(TEST)
    assert rows["nearest_prototype", "all", "all"]["mean"] > rows["random", "all", "all"]["mean"] + 0.05
    assert "each within itself (halves)" in (tmp_path / "index.html").read_text()
    refused = CliRunner().invoke(experiment, [*words, "--within", "70/15/15", "--ways", "5"])
    assert refused.exit_code == 2 and "No dataset can be split (70/15/15)" in refused.output
    refused = CliRunner().invoke(experiment, [*words, "--within", "halves", "--train", TRAIN[0]])
    assert refused.exit_code == 2 and "--train says nothing with --within" in refused.output


@pytest.mark.seconds("trains and tests small networks")
def test_datasets_that_cannot_be_split_are_named(
    demo_folder: Path, demo_packs: dict[str, Path], tmp_path: Path
) -> None:
    """On the console and on the page, with the reason."""
    for path in demo_packs.values():
        shutil.copy(path, tmp_path)
    small = Pack.open(demo_packs[TRAIN[0]])
    (tmp_path / f"{TRAIN[0]}.anyshot-pack").unlink()
    write_part(small, np.flatnonzero(small.labels < 3), tmp_path / f"{TRAIN[0]}.anyshot-pack")
    words = [
        "baselines",
        "random",
        "--pool",
        str(tmp_path),
        "--seeds",
        "1",
        "--tasks",
        "4",
        "--within",
        "halves",
    ]
    words += [
        "--test",
        TRAIN[0],
        "--test",
        TEST[0],
        "--ways",
        "3",
        "--query",
        "5",
        "-o",
        str(tmp_path / "out"),
    ]
    found = CliRunner().invoke(experiment, words)
    assert found.exit_code == 0 and f"Left out: {TRAIN[0]}" in found.output, found.output
    assert f"Left out: {TRAIN[0]}" in (tmp_path / "out" / "index.html").read_text()


def test_nothing_is_trained_and_tested_on(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """An experiment refuses a dataset in both lists, a dry run lets it be; a name given twice is refused by both."""
    pool = next(iter(demo_packs.values())).parent
    words = ["baselines", "random", "--pool", str(pool), "--train", TEST[0], "--test", TEST[0]]
    refused = CliRunner().invoke(experiment, [*words, "-o", str(tmp_path / "out")])
    assert refused.exit_code == 2 and f"{TEST[0]}: to be trained and tested on" in " ".join(
        refused.output.split()
    )
    assert len(find_public_data(pool, tmp_path, train=TEST[:1], test=TEST).test) == 2
    with pytest.raises(NoData, match=f"train on: {TRAIN[0]} named more than once"):
        find_public_data(pool, tmp_path, train=[TRAIN[0], TRAIN[0]], test=TEST)


def test_within_domain_training_sees_no_test_class(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """The pack that a run within a dataset trains on has the other classes only, and so has that for validation."""
    data = PublicData((demo_packs[TRAIN[0]],), (demo_packs[TEST[0]],), generated=True)
    plan = Experiment((find_baselines(("random",), FOLDER)[0],), data, tmp_path, (1,), 4, within="halves")
    run = plan.runs()[0].plan(tmp_path / "bundle.zip")
    shown = shown_packs(run.data, run.roles, tmp_path)
    trained, tested = Pack.open(shown.train[0]), Pack.open(run.data.test[0])
    assert isinstance(run.protocol, WithinDomain) and not shown.validation
    hidden = {tested.classes[c] for c in run.protocol.classes(Pool([tested]), 0)}
    assert len(hidden) == len(trained.classes) == 4 and hidden.isdisjoint(trained.classes)


@pytest.mark.seconds("trains and tests small networks")
def test_within_a_dataset_there_is_validation_where_the_split_has_a_part_for_it(tmp_path: Path) -> None:
    """70/15/15 of 14 classes are 10, 2 and 2; of 8 classes one would be left, which is no task."""
    for classes, wanted in ((14, 2), (8, 0)):
        path = write_pack(tmp_path, f"D{classes}", classes=classes)
        data = PublicData((), (path,), generated=True)
        plan = Experiment(
            (find_baselines(("random",), FOLDER)[0],),
            data,
            tmp_path,
            (1,),
            4,
            ways=Range(1, 2),
            shots=Range(1, 1),
            query=2,
            within="70/15/15",
        )
        run = plan.runs()[0].plan(tmp_path / "bundle.zip")
        folder = tmp_path / f"cut{classes}"
        folder.mkdir()
        shown = shown_packs(run.data, run.roles, folder)
        assert sum(len(Pack.open(path).classes) for path in shown.validation) == wanted
        assert not {c for p in shown.validation for c in Pack.open(p).classes} & {
            *Pack.open(shown.train[0]).classes
        }


@pytest.mark.parametrize("seeds", ["1,²", "1,x", "", str(2**31)])
def test_seeds_are_whole_numbers(seeds: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(experiment, ["baselines", "random", "--seeds", seeds, "-o", str(tmp_path)])
    assert found.exit_code == 2 and "--seeds" in found.output


def words_for(demo_packs: dict[str, Path], tmp_path: Path, *names: str) -> list[str]:
    """Four small tasks on the demo packs, with seeds 1 and 2."""
    words = ["baselines", *names, "--pool", str(next(iter(demo_packs.values())).parent), "--seeds", "1,2"]
    words += [word for name in TRAIN for word in ("--train", name)]
    words += [word for name in TEST for word in ("--test", name)]
    return [*words, "--tasks", "4", "--query", "5", "--cpus", "1", "-o", str(tmp_path / "out")]


@pytest.mark.slow("runs of which each imports torch")
def test_an_interrupted_experiment_goes_on(
    demo_packs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What there is is written, with the words how to go on; a results file that is broken is done again."""
    real, calls = carry_out, list[DryRunPlan]()

    def interrupted(plan: DryRunPlan, hooks: Hooks) -> DryRun:
        calls.append(plan)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(plan, hooks)

    monkeypatch.setattr(carry_out_module, "carry_out", interrupted)
    words = words_for(demo_packs, tmp_path, "random", "nearest_prototype")
    found = CliRunner().invoke(experiment, words)
    assert found.exit_code == 1 and "Interrupted: run the same command to go on" in found.output
    page = tmp_path / "out" / "index.html"
    assert "3 of 4 runs are done: run the same command to go on." in page.read_text()
    rows = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert {(row["baseline"], row["seeds"]) for row in rows} == {("random", 1), ("nearest_prototype", 1)}
    next((tmp_path / "out" / "runs").glob("random-1-*.parquet")).write_bytes(b"")
    found = CliRunner().invoke(experiment, words)
    assert found.exit_code == 0 and found.output.count("(done before)") == 2, found.output
    assert "run the same command" not in page.read_text() and len(calls) == 6
    assert "in 4 runs" in page.read_text()
    assert "The tasks have" in found.output and "shots where 1 to 20 were asked for" in page.read_text()


@pytest.mark.slow("runs of which each imports torch")
def test_a_failed_run_is_told(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """In a line, with the traceback folded away; the command ends with 1."""
    broken = own(tmp_path, "broken", "{}", "\nraise RuntimeError('<no way>')")
    words = words_for(demo_packs, tmp_path, "random", str(broken))
    found = CliRunner().invoke(experiment, words)
    assert found.exit_code == 1 and "<no way>" in found.output, found.output
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count("<p>Failed: broken, seed ") == page.count("<details>") == 2
    assert "&lt;no way&gt;" in page and "broken failed on seeds 1, 2" in page


@pytest.mark.slow("runs of which each imports torch")
def test_further_evaluations_cost_no_second_training(tmp_path: Path) -> None:
    """What is added later is tested with the learner that was kept; table, curve, gap and files have all points."""
    pool = tmp_path / "pool"
    pool.mkdir()
    write_pack(pool, "ONE", classes=16, images=20, seed=1)
    split = "ways=2-4 shots=1 query=2 held_back=0.3"
    words = ["baselines", "nearest-prototype", "--pool", str(pool), "--train", "ONE", "--test", "ONE"]
    words = [*words, "--seeds", "1", "--tasks", "6", "--cpus", "1", "-o", str(tmp_path / "out")]
    words[words.index("--train") : words.index("--train") + 2] = []
    words += ["--protocol", f"class_side side=novel images=all {split}"]
    words += ["--train-protocol", f"class_side side=base {split}"]
    (pool / "info").mkdir()
    (pool / "info" / "meta_splits.txt").write_text(json.dumps({"meta-train": [], "meta-test": ["ONE"]}))
    first = CliRunner().invoke(experiment, [*words, "--evaluate", "base"])
    assert first.exit_code == 0, first.output
    assert len(list((tmp_path / "out" / "learners").iterdir())) == 1
    more = ["--evaluate", "base", "--evaluate", "novel", "--evaluate", "mixtures steps=0,1"]
    second = CliRunner().invoke(experiment, [*words, *more])
    assert second.exit_code == 0, second.output
    assert second.output.count("meta_training") == 0 and "meta_testing" in second.output
    rows = json.loads((tmp_path / "out" / "evaluations.json").read_text())
    assert [row["point"] for row in rows] == ["base", "novel", "0", "1"]
    assert all(row["tasks"] == 6 and row["mean"] is not None for row in rows)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Further evaluations" in page and "From base to novel classes" in page
    assert "share of novel classes" in page and "<td>nearest_prototype</td>" in page
    assert (tmp_path / "out" / "evaluations.csv").read_text().startswith("baseline,evaluation,")
    third = CliRunner().invoke(experiment, [*words, *more])
    assert third.exit_code == 0 and third.output.count("(done before)") == 1
    bad = CliRunner().invoke(experiment, [*words, "--evaluate", "unseen_pairs"])
    assert bad.exit_code == 2 and "Evaluation unseen_pairs" in " ".join(bad.output.split())


@pytest.mark.slow("eight runs, each of which imports torch")
def test_runs_at_a_time_are_the_same_runs(
    demo_packs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at a time: both are under way before one ends, in the order and with the results of one after the other."""
    both, seen = threading.Barrier(2, timeout=60), list[str]()
    real = carry_out

    def together(plan: DryRunPlan, hooks: Hooks) -> DryRun:
        both.wait()
        seen.append(f"cpus {plan.cpus}")
        return real(plan, hooks)

    words = words_for(demo_packs, tmp_path, "random", "nearest_prototype")
    one = CliRunner().invoke(experiment, words)
    assert one.exit_code == 0, one.output
    before = (tmp_path / "out" / "scores.json").read_text()
    shutil.rmtree(tmp_path / "out")
    monkeypatch.setattr(carry_out_module, "carry_out", together)
    two = CliRunner().invoke(experiment, [*words, "--jobs", "2"])
    assert two.exit_code == 0, two.output
    assert (tmp_path / "out" / "scores.json").read_text() == before and seen == ["cpus 1"] * 4

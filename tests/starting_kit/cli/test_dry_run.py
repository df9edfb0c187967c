"""`anyshot dry-run` as a participant types it: the first in a process of its own, the others in this one."""

import hashlib
import importlib.metadata
import importlib.util
import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from anyshot_core.command import AS_PROCESS, main
from anyshot_core.data.pack import pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.installation import CPU_TORCH
from anyshot_core.protocols import (
    AnyWayAnyShot,
    ClassSide,
    FixedSupports,
    HeldOutDomains,
    Roles,
    training_stream,
)
from anyshot_core.results import Identity, Maker, find_runs, read_predictions, read_results, write_results
from anyshot_core.taskserver.channel import NoSandbox
from anyshot_starting_kit.cli.account import Account, write_account
from anyshot_starting_kit.dryrun.evaluate import channel_opener
from anyshot_starting_kit.dryrun.parts import training_packs
from anyshot_starting_kit.dryrun.publicdata import NoData, PublicData, find_public_data, read_split
from tests.core.conftest import HONEST
from tests.core.tinydata import write_dataset

KIT = f'"anyshot-starting-kit[torch]=={importlib.metadata.version("anyshot-starting-kit")}"'


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three datasets for training, two for testing, with 26 images a class."""
    folder = tmp_path_factory.mktemp("data")
    for number in range(5):
        write_dataset(folder / f"SET_{number}", classes=4, images=26, seed=number)
    (folder / "info").mkdir()
    splits = {"meta-train": ["SET_0", "SET_1", "SET_2"], "meta-test": ["SET_3", "SET_4"]}
    (folder / "info" / "meta_splits.txt").write_text(json.dumps(splits))
    return folder


def anyshot(tmp_path: Path, *words: str, within: str = ".") -> Result:
    """The command in this process, typed in a folder of the test's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / within)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        return CliRunner().invoke(main, list(words))


@pytest.mark.seconds("a dry run in a process of its own")
def test_the_template_runs_and_scores_above_chance(tmp_path: Path, data: Path) -> None:
    assert CliRunner().invoke(main, ["init", str(tmp_path / "mine")]).exit_code == 0
    config = json.loads((tmp_path / "mine" / "config.json").read_text())
    config["train_config"] = config["valid_config"] = {"N": 3, "k": 3, "query_images_per_class": 4}
    (tmp_path / "mine" / "config.json").write_text(json.dumps(config))
    words = ["dry-run", "mine", "--quick", "--data", str(data), "--json", "-o", "out"]
    environment = {"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path / "cache"), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [*AS_PROCESS, *words], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["verdict"] == "OK" and outcome["summary"]["mean"] > 0.2
    assert outcome["participant_seconds"]["meta_fit"] > 0 and outcome["platform_seconds"]["start"] > 0
    table, meta = read_results(tmp_path / "out" / "results.parquet")
    assert len(table.task) == meta["tasks"] == 5
    predictions, _ = read_predictions(tmp_path / "out" / "predictions.parquet")
    assert (predictions.score().normalized_accuracy == table.normalized_accuracy).all()
    assert (tmp_path / "out" / "meta_train.csv").read_text().count("\n") == 4  # three tasks: cut short
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Dry run of mine" in page and page.count("data-chart=") == 4  # one domain has none
    looked_at = (tmp_path / "out" / "tasks.html").read_text()
    assert "at the right up to 10 of its query images, wrong ones first" in looked_at
    assert looked_at.count("data:image/jpeg;base64,") == len(table.task)
    right = [
        (int(one), int(all_of))
        for one, all_of in re.findall(r"(\d+) of (\d+) query images were classified correctly", looked_at)
    ]
    assert [one / all_of for one, all_of in right] == pytest.approx(list(table.accuracy))
    for row in table.dataset:
        assert f": {row}, " in looked_at


@pytest.mark.seconds("a dry run")
def test_a_failure_shows_everything_and_exits_with_1(tmp_path: Path, data: Path) -> None:
    (tmp_path / "mine").mkdir()
    model = HONEST.replace(
        "        X, y, original_y", '        raise KeyError("my fault")\n        X, y, original_y'
    )
    (tmp_path / "mine" / "model.py").write_text(model)
    done = anyshot(
        tmp_path, "dry-run", "mine", "--data", str(data), "--ways", "3", "--shots", "2", "--tasks", "2"
    )
    assert done.exit_code == 1, done.output
    assert "RUNTIME_ERROR" in done.stdout and "KeyError in fit: 'my fault'" in done.stdout
    assert "At task number 1: 3-way 2-shot." in done.stdout
    assert 'File "model.py", line 14, in fit' in done.stdout


@pytest.mark.slow("a training for each dataset")
def test_within_a_domain_each_dataset_has_a_learner_of_its_own(tmp_path: Path, data: Path) -> None:
    (tmp_path / "mine").mkdir()
    model = HONEST.replace(
        "def meta_fit(self, meta_train_generator, meta_valid_generator):",
        "def meta_fit(self, meta_train_generator, meta_valid_generator):\n        print('classes', self.total_classes)",
        1,
    )
    assert model != HONEST
    (tmp_path / "mine" / "model.py").write_text(model)
    words = [
        "--within-domain",
        "--each-dataset",
        "--ways",
        "2",
        "--shots",
        "1",
        "--query",
        "5",
        "--tasks",
        "5",
    ]
    done = anyshot(tmp_path, "dry-run", "mine", *words, "--data", str(data), "-o", "out")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("classes 2") == 2  # twice half of the four classes
    table, _ = read_results(tmp_path / "out" / "results.parquet")
    assert table.task.tolist() == [0, 1, 2, 3, 4]
    assert set(table.dataset.tolist()) == {"SET_3", "SET_4"}
    alone = anyshot(tmp_path, "dry-run", "mine", "--each-dataset")
    assert alone.exit_code == 2 and "goes with --within-domain" in alone.stderr


def test_a_bad_bundle_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("hello")
    done = anyshot(tmp_path, "dry-run", "text.zip")
    assert done.exit_code == 1 and "not a zip archive" in done.stdout


SMALL = ("--ways", "2", "--shots", "1", "--query", "2", "--tasks", "2")


@pytest.mark.slow("three dry runs")
def test_what_a_dry_run_writes_is_no_part_of_the_next_one(tmp_path: Path, data: Path) -> None:
    """As the template says, in the folder itself: each run had another digest, and none had a name."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "model.py").write_text(HONEST)
    command = ("dry-run", ".", "--data", str(data), *SMALL)
    packed = CliRunner().invoke(main, ["pack", str(mine), "-o", str(tmp_path / "a.zip")])
    assert packed.exit_code == 0, packed.output
    for words in (("--keep-learner",), ("--seed", "94", "-o", "results"), ("--seed", "95", "-o", "results")):
        done = anyshot(tmp_path, *command, *words, within="mine")
        assert done.exit_code == 0, done.output
    assert "Dry run of mine" in (mine / "results" / "report.html").read_text()
    ((_, runs),) = find_runs(
        [mine / name / "results.parquet" for name in ("anyshot-dry-run", "results")]
    ).items()
    assert [run.identity.train_seed for run in runs] == [93, 95]
    assert {run.identity.who for run in runs} == {"mine"}
    code = hashlib.sha256((tmp_path / "a.zip").read_bytes()).hexdigest()
    assert {run.identity.code for run in runs} == {code}
    inside = anyshot(tmp_path, *command, "-o", ".", within="mine")
    assert inside.exit_code == 2 and "the folder of the submission itself" in " ".join(inside.stderr.split())


FAILS = HONEST.replace(
    "        X, y, original_y", '        raise KeyError("my fault")\n        X, y, original_y'
)


@pytest.mark.slow("four dry runs")
def test_a_failed_run_leaves_no_results_of_the_run_before(tmp_path: Path, data: Path) -> None:
    """They stayed, and an analysis of the folder read the earlier run's as those of the one that failed."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.py").write_text(HONEST)
    words = ("dry-run", "mine", "--data", str(data), *SMALL, "-o", "out")
    third = (
        "--evaluate",
        f"pool pool={write_dataset(tmp_path / 'third' / 'THIRD', images=9).parent} key=third",
    )
    full = anyshot(tmp_path, *words, *third, "--probabilities")
    assert full.exit_code == 0, full.output
    out = tmp_path / "out"
    written = {path.name for path in out.iterdir()}
    assert {
        "results.parquet",
        "results-third.parquet",
        "probabilities.npz",
        "learner.bin",
        "report.html",
    } < written
    (out / "notes.txt").write_text("mine")
    (out / "mine.npz").write_text("mine")
    shutil.copy(out / "results.parquet", out / "results.parquet.copy")
    table, _ = read_results(out / "results.parquet")
    write_results(out / "results-of-the-site.parquet", table, Identity(maker=Maker.SITE, who="other"))
    kept = {"notes.txt", "mine.npz", "results.parquet.copy", "results-of-the-site.parquet"}
    refused = anyshot(tmp_path, *words, "--protocol", "class_side side=novel")
    assert refused.exit_code == 2 and {path.name for path in out.iterdir()} == written | kept
    again = anyshot(tmp_path, *words, "--learner", "out/learner.bin")
    assert again.exit_code == 0, again.output
    assert not (out / "results-third.parquet").exists() and not (out / "probabilities.npz").exists()
    assert (out / "results.parquet").exists() and (out / "learner.bin").exists()
    (tmp_path / "mine" / "model.py").write_text(FAILS)
    assert anyshot(tmp_path, *words).exit_code == 1
    assert {path.name for path in out.iterdir()} == kept | {"meta_train.csv"} & written


def test_wrong_data_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(NoData, match=r"found neither info/meta_splits\.txt nor info/sets\.json"):
        read_split(tmp_path)
    (tmp_path / "info").mkdir()
    (tmp_path / "info" / "sets.json").write_text('{"set-0": ["A"], "set-1": ["B"]}')
    assert read_split(tmp_path) == (("A",), ("B",))
    with pytest.raises(NoData, match="there is no dataset A"):
        find_public_data(tmp_path, tmp_path / "cache")


def test_a_sandbox_that_nobody_offers(tmp_path: Path) -> None:
    with pytest.raises(NoSandbox, match="Install anyshot-worker"):
        channel_opener("no-such-sandbox", 1, 1 << 30)


def test_a_missing_sandbox_is_told_before_data_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NoSandbox("bubblewrap is not here")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("anyshot_starting_kit.dryrun.evaluate.channel_opener", refuse)
    (tmp_path / "model.py").write_text(HONEST)
    done = CliRunner().invoke(main, ["dry-run", str(tmp_path), "--bubblewrap", "-o", str(tmp_path / "out")])
    assert done.exit_code == 3 and "bubblewrap is not here" in done.output
    assert not (tmp_path / "cache" / "anyshot").exists()


@pytest.mark.parametrize("server", ["https://site.example/", ""])
def test_without_torch_a_dry_run_gives_the_line_of_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANYSHOT_SERVER", raising=False)
    if server:
        write_account(Account(server=server))
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "torch" else find(name, *more)
    )
    assert CliRunner().invoke(main, ["init", str(tmp_path / "mine")]).exit_code == 0
    said = CliRunner().invoke(main, ["dry-run", str(tmp_path / "mine")])
    address = f"--extra-index-url https://site.example/kit/simple/ {KIT}" if server else "/docs/participants/"
    assert said.exit_code == 3 and address in said.output
    assert (CPU_TORCH in said.output) == bool(server)


def test_a_command_that_lacks_a_package_gives_the_line_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYSHOT_SERVER", "https://site.example")
    monkeypatch.setitem(sys.modules, "anyshot_starting_kit.cli.score", None)
    said = CliRunner().invoke(main, ["score"])
    assert f"https://site.example/kit/simple/ {KIT}" in said.output


FEW = "ways=2 shots=1 query=2 shares=0.5,0,0.5"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--protocol", "legacy query=5"], "makes 200 tasks of this pool; found 40. Set the number"),
        (["--within-domain", "--each-dataset", "--tasks", "1"], "needs a task: found 1 for 2 datasets"),
        (["--ways", "1"], "ways must be at least 2 in tasks that are scored; found 1"),
        (["--protocol", "fixed query=0"], "query must be at least 1 in tasks that are scored; found 0"),
        (
            [
                "--protocol",
                f"class_side side=novel images=all {FEW}",
                "--validation-protocol",
                f"class_side side=valid {FEW}",
            ],
            "found 0 valid classes among 4, by class_side with the shares 0.5, 0, 0.5",
        ),
        (
            ["--protocol", f"base_novel {FEW}", "--evaluate", "validation"],
            "Evaluation validation: SET_3",
        ),
    ],
)
def test_tasks_without_a_score_or_a_class_are_refused_before_anything_is_trained(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "model.py").write_text(HONEST)
    asked = ["dry-run", str(tmp_path), "--data", str(data), "-o", str(tmp_path / "out"), *words]
    done = CliRunner().invoke(main, asked)
    shown = " ".join(done.output.split())
    assert done.exit_code == 2 and said in shown, shown


RECORDER = HONEST.replace(
    "def meta_fit(self, meta_train_generator, meta_valid_generator):",
    "def meta_fit(self, meta_train_generator, meta_valid_generator):\n"
    "        import hashlib, json\n"
    "        def seen(generator, count):\n"
    "            tasks = list(generator(count))\n"
    "            pictures = {hashlib.sha256(x.numpy().tobytes()).hexdigest()[:12] for t in tasks\n"
    "                        for part in (t.support_set, t.query_set) for x in part[0]}\n"
    "            shapes = sorted({(t.num_ways, t.num_shots) for t in tasks})\n"
    "            supports = len({x.numpy().tobytes() for t in tasks for x in t.support_set[0]})\n"
    "            return {'tasks': len(tasks), 'shapes': shapes, 'datasets': sorted({t.dataset for t in tasks}),\n"
    "                    'pictures': sorted(pictures), 'supports': supports}\n"
    "        found = {'train': seen(meta_train_generator, 30),\n"
    "                 'valid': meta_valid_generator and seen(meta_valid_generator, 100)}\n"
    "        print('SEEN ' + json.dumps(found))",
    1,
)


def dry_run_seen(
    tmp_path: Path, data: Path, *words: str, config: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What meta_fit was shown in a dry run with these options."""
    (tmp_path / "mine").mkdir(exist_ok=True)
    (tmp_path / "mine" / "model.py").write_text(RECORDER)
    (tmp_path / "mine" / "config.json").write_text(json.dumps(config or {}))
    done = anyshot(tmp_path, "dry-run", "mine", "--tasks", "3", "--data", str(data), "-o", "out", *words)
    assert done.exit_code == 0, done.output
    log = (tmp_path / "out" / "log.txt").read_text() if (tmp_path / "out" / "log.txt").is_file() else ""
    line = next(line for line in (log + done.stdout).splitlines() if "SEEN {" in line)
    return json.loads(line[line.index("{") :])


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One dataset of 14 classes to divide, and one to train on."""
    folder = tmp_path_factory.mktemp("wide")
    write_dataset(folder / "ONE", classes=14, images=9, seed=1)
    write_dataset(folder / "OTHER", classes=4, images=9, seed=2)
    (folder / "info").mkdir()
    splits = {"meta-train": ["OTHER"], "meta-test": ["ONE"]}
    (folder / "info" / "meta_splits.txt").write_text(json.dumps(splits))
    return folder


@pytest.mark.seconds("a dry run")
def test_within_one_dataset_there_is_training_validation_and_test(tmp_path: Path, wide: Path) -> None:
    """The paper's 100 validation tasks come of classes that are neither trained on nor tested; a wish for held-out
    datasets takes nothing away, a wish for ways counts within what the phase offers."""
    rest = "split=70/15/15 shots=1 query=2"
    words = ["--protocol", f"within_domain ways=2 part=meta_test {rest}"]
    words += ["--train-protocol", f"within_domain ways=2-5 part=meta_train {rest}"]
    words += ["--validation-protocol", f"within_domain ways=2 part=meta_valid {rest}"]
    config = {"validation_datasets": 3, "train_config": {"N": 4, "k": 20, "query_images_per_class": 2}}
    seen = dry_run_seen(tmp_path, wide, *words, config=config)
    assert seen["train"]["tasks"] == 30 and seen["train"]["shapes"] == [[4, 1]]
    assert seen["valid"]["tasks"] == 100 and seen["valid"]["shapes"] == [[2, 1]]
    assert seen["train"]["datasets"] == seen["valid"]["datasets"] == ["ONE"]
    assert not set(seen["train"]["pictures"]) & set(seen["valid"]["pictures"])


@pytest.mark.seconds("a dry run")
def test_without_protocols_a_dry_run_shows_what_it_showed(tmp_path: Path, wide: Path) -> None:
    """Tasks of the 2022 kit, draw for draw, from the datasets to train on, without validation."""
    config = {"train_config": {"N": 3, "k": 2, "query_images_per_class": 3}}
    seen = dry_run_seen(tmp_path, wide, "--ways", "2", "--shots", "1", "--query", "2", config=config)
    assert seen["valid"] is None and seen["train"]["datasets"] == ["OTHER"]
    pool, made = Pool([pack_dataset(wide / "OTHER", tmp_path)]), set()
    wished = {"N": 3, "k": 2, "query_images_per_class": 3}
    for spec in itertools.islice(training_stream(pool, wished, 93), 30):
        for row in spec.rows:
            picture = (pool[0].images[row].astype(np.float32) / np.float32(255)).tobytes()
            made.add(hashlib.sha256(picture).hexdigest()[:12])
    assert set(seen["train"]["pictures"]) == made


@pytest.mark.seconds("a dry run")
def test_fixed_supports_are_of_the_datasets_named_to_train_on(tmp_path: Path, data: Path) -> None:
    """Across domains; of each class the support is the same in every task."""
    fixed = "fixed_supports ways=2 shots=1 query=2 shares=1,0,0 held_back=0"
    words = ["--ways", "2", "--shots", "1", "--query", "2", "--train-protocol", fixed]
    seen = dry_run_seen(tmp_path, data, *words, "--train", "SET_0", "--train", "SET_2")
    assert seen["train"]["datasets"] == ["SET_0", "SET_2"]
    assert seen["train"]["supports"] == 8  # one of each class, in 30 tasks


SIDE, FREE = ClassSide(), AnyWayAnyShot()


@pytest.mark.parametrize(
    ("roles", "unnamed", "named"),
    [
        (Roles(FREE, FixedSupports(), ClassSide(side="valid")), "TRAINED", "TRAINED"),
        (Roles(SIDE, FixedSupports(), ClassSide(side="valid")), "TESTED", "TRAINED"),
        (Roles(SIDE), "TESTED", "TRAINED"),
        (Roles(HeldOutDomains(domains=("A",)), FixedSupports()), "TRAINED", "TRAINED"),
        (Roles(FREE, FREE), "TRAINED", "TRAINED"),
    ],
)
def test_what_divides_datasets_divides_those_named_to_train_on(
    roles: Roles, unnamed: str, named: str
) -> None:
    """Without a name those tested, where the test leaves it a part of them."""
    for was_named, expected in ((False, unnamed), (True, named)):
        data = PublicData((Path("TRAINED"),), (Path("TESTED"),), generated=False, named=was_named)
        train, validation = training_packs(data, roles)
        assert train == (Path(expected),) and validation in (None, train)


def test_each_dataset_is_trained_on_by_itself(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HONEST)
    words = ["dry-run", str(tmp_path), "--within-domain", "--each-dataset", "--train", "SET_1"]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 2
    assert "--train says nothing with --each-dataset" in " ".join(refused.output.split())


def test_a_leak_is_refused_before_anything_runs(tmp_path: Path, wide: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.py").write_text(HONEST)
    words = ["--protocol", "class_side side=novel images=all ways=2 shots=1 query=2"]
    words += ["--train-protocol", "class_side side=novel images=all ways=2 shots=1 query=2"]
    refused = anyshot(tmp_path, "dry-run", "mine", *words, "--data", str(wide))
    assert refused.exit_code == 2 and "would be trained on (class_side) and tested on" in " ".join(
        refused.stderr.split()
    )
    for option in ("--ways", "--shots", "--query"):
        both = anyshot(tmp_path, "dry-run", "mine", *words, option, "20")
        told = " ".join(both.stderr.split())
        assert both.exit_code == 2 and "leave --within-domain, --ways, --shots, --query" in told


@pytest.mark.slow("a training, and a run for each of its evaluations")
def test_one_training_many_tests(tmp_path: Path) -> None:
    """A learner is trained once and tested further: table, curve and files of each point, JSON; later from the kept
    learner alone. What its training shows is refused before anything runs."""
    data = tmp_path / "data"
    write_dataset(data / "ONE", classes=16, images=20, seed=1)
    write_dataset(data / "OTHER", classes=4, images=9, seed=2)
    write_dataset(tmp_path / "third" / "THIRD", classes=4, images=9, seed=3)
    (data / "info").mkdir()
    splits = {"meta-train": ["OTHER"], "meta-test": ["ONE"]}
    (data / "info" / "meta_splits.txt").write_text(json.dumps(splits))
    (tmp_path / "mine").mkdir()
    counted = HONEST.replace(
        "return MyLearner()", "import sys; print('TRAINED', file=sys.stderr)\n        return MyLearner()", 1
    )
    (tmp_path / "mine" / "model.py").write_text(counted)
    split = "ways=2 shots=1 query=2 held_back=0.3"
    words = ["dry-run", "mine", "--data", str(data), "--tasks", "6", "-o", "out"]
    words += ["--protocol", f"class_side side=novel images=all {split}"]
    words += ["--train-protocol", f"class_side side=base {split}"]
    wanted = ["base", "pool pool=third tasks=4 key=third"]
    done = anyshot(tmp_path, *words, *[word for text in wanted for word in ("--evaluate", text)])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("TRAINED") == 1 and "Base classes: " in done.stdout
    assert "Another pool (third): " in done.stdout
    scores = {
        (s["evaluation"], s["point"]): s for s in json.loads((tmp_path / "out/evaluations.json").read_text())
    }
    assert {name for name, _ in scores} == {"base", "third"}
    assert scores["base", "base"]["tasks"] == 6 and scores["third", "third"]["tasks"] == 4
    table = (tmp_path / "out" / "report.html").read_text().partition('id="evaluation-together"')[2]
    rows = re.findall(r'<th scope="row">(.*?)</th>', table.partition("</section>")[0])
    assert rows == ["Base classes", "Another pool (third)"]  # of one point each: they share a table
    runs = find_runs([*sorted((tmp_path / "out").glob("results*.parquet"))])
    assert {"mine", "mine (base)", "mine (third)"} == set(runs)
    (third,) = runs["mine (third)"]
    assert set(third.table.dataset) == {"THIRD"}
    mean = float(third.table.normalized_accuracy.mean())
    assert mean == pytest.approx(scores["third", "third"]["mean"])
    words[words.index("out")] = "later"
    later = anyshot(tmp_path, *words, "--learner", "out/learner.bin", "--evaluate", "base", "--json")
    assert later.exit_code == 0, later.output
    (again,) = json.loads(later.stdout)["evaluations"]
    assert again == scores["base", "base"] and "TRAINED" not in later.output
    leak = anyshot(tmp_path, *words, "--evaluate", f"pool pool={data}")
    assert leak.exit_code == 2 and "would be trained on" in " ".join(leak.stderr.split())

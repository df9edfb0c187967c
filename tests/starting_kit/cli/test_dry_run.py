"""`anyshot dry-run` as a participant types it, in a real child process."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_core.results import read_predictions, read_results
from anyshot_starting_kit.dryrun.evaluate import NoSandbox, channel_opener
from anyshot_starting_kit.dryrun.publicdata import NoData, find_public_data, read_split
from tests.core.conftest import HONEST
from tests.core.tinydata import write_dataset


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


def anyshot(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path / "cache"), "LANG": "C.UTF-8"}
    command = [sys.executable, "-c", "from anyshot_core.command import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=200)


def test_the_template_runs_and_scores_above_chance(tmp_path: Path, data: Path) -> None:
    assert CliRunner().invoke(main, ["init", str(tmp_path / "mine")]).exit_code == 0
    config = json.loads((tmp_path / "mine" / "config.json").read_text())
    config["train_config"] = config["valid_config"] = {"N": 3, "k": 3, "query_images_per_class": 4}
    (tmp_path / "mine" / "config.json").write_text(json.dumps(config))
    done = anyshot(tmp_path, "dry-run", "mine", "--quick", "--data", str(data), "--json", "-o", "out")
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
    assert "Dry run of mine" in page and "<svg" in page


def test_a_failure_shows_everything_and_exits_with_1(tmp_path: Path, data: Path) -> None:
    (tmp_path / "mine").mkdir()
    model = HONEST.replace(
        "        X, y, original_y", '        raise KeyError("my fault")\n        X, y, original_y'
    )
    (tmp_path / "mine" / "model.py").write_text(model)
    done = anyshot(
        tmp_path, "dry-run", "mine", "--data", str(data), "--ways", "3", "--shots", "2", "--tasks", "2"
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "RUNTIME_ERROR" in done.stdout and "KeyError in fit: 'my fault'" in done.stdout
    assert "At task 0 (3-way 2-shot), after 0 tasks." in done.stdout
    assert 'File "model.py", line 14, in fit' in done.stdout


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
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("classes 2") == 2  # twice half of the four classes
    table, _ = read_results(tmp_path / "out" / "results.parquet")
    assert table.task.tolist() == [0, 1, 2, 3, 4]
    assert set(table.dataset.tolist()) == {"SET_3", "SET_4"}
    alone = anyshot(tmp_path, "dry-run", "mine", "--each-dataset")
    assert alone.returncode == 2 and "goes with --within-domain" in alone.stderr


def test_a_bad_bundle_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("hello")
    done = anyshot(tmp_path, "dry-run", "text.zip")
    assert done.returncode == 1 and "not a zip archive" in done.stdout


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


def test_without_torch_a_dry_run_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "torch" else find(name, *more)
    )
    assert CliRunner().invoke(main, ["init", str(tmp_path / "mine")]).exit_code == 0
    said = CliRunner().invoke(main, ["dry-run", str(tmp_path / "mine")])
    assert said.exit_code == 3 and "anyshot-starting-kit[torch]" in said.output

"""Every bundle as a submission: it learns, serves tasks of any shape, and takes or misses pretrained weights."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save_file

from anyshot_starting_kit.dryrun.evaluate import DryRun
from tests.baselines.trial import FOLDER, NAMES, Expected, try_baseline

pytestmark = pytest.mark.training

TINY = "test_resnet"  # of timm: 0.5 million weights
SETTINGS = [name for name in NAMES if "method" in json.loads((FOLDER / name / "config.json").read_text())]
SMALL = {"width": 16, "stem_pool": 8, "iterations": 60}  # images of 16 x 16
MORE = {
    "fo_maml_2022": {"iterations": 400}
}  # after sixty it is 1.6 standard errors above chance, after these 3.2
SLOW_AT_FIRST = (
    "fo_maml",
    "fo_maml_2022",
    "maml",
)  # sixty tasks are too few for their loss to tell; their steps are tested apart
FEW = {
    "iterations": 4,
    "backbone": f"timm:{TINY}",
    "backbones": [f"timm:{TINY}"],
    "image_size": 32,
    "test_steps": 5,
    "test_inner_steps": 5,
}


@pytest.mark.rotating
@pytest.mark.parametrize("name", NAMES)
def test_it_learns_and_answers_tasks_of_all_shapes(
    name: str, demo_packs: dict[str, Path], tmp_path: Path
) -> None:
    """A small network, for seconds: its loss falls, and its answers are, but for guessing, above chance."""
    changes = {"method": SMALL | MORE.get(name, {})} if name in SETTINGS else None
    run = try_baseline(name, demo_packs, tmp_path, changes=changes)
    assert_above_chance(name, run)
    assert run.table is not None
    assert len(np.unique(run.table.ways)) > 3 and run.table.ways.min() < 4 and run.table.ways.max() > 6
    assert run.table.shots.min() == 1 and run.table.shots.max() > 5
    losses = losses_of(run)
    if name not in SLOW_AT_FIRST and losses:
        assert np.mean(losses[-20:]) < 0.96 * np.mean(losses[:20])


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", NAMES)
def test_quick_settings_score_as_recorded(name: str, demo_packs: dict[str, Path], tmp_path: Path) -> None:
    expected = Expected.read(name)
    run = try_baseline(name, demo_packs, tmp_path, seed=expected.seed)
    assert_above_chance(name, run)
    low, high = expected.score
    assert run.summary is not None and low <= run.summary.mean <= high


def assert_above_chance(name: str, run: DryRun) -> None:
    """The mean over tasks is more than two standard errors above chance."""
    assert run.outcome.failure is None, run.outcome.failure
    assert run.table is not None and run.summary is not None
    error = run.table.normalized_accuracy.std(ddof=1) / len(run.table) ** 0.5
    assert name == "random" or run.summary.mean > 2 * error


def losses_of(run: DryRun) -> list[float]:
    """The loss of each iteration of meta-training; none where nothing was trained."""
    rows = run.outcome.logger_tables.get("meta_train.csv", b"").decode().splitlines()
    return [float(row["loss"]) for row in csv.DictReader(rows)]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Weights of a tiny network of timm with its classifier, in two formats."""
    torch.manual_seed(5)
    state = timm.create_model(TINY, pretrained=False, num_classes=10).state_dict()
    folder = tmp_path_factory.mktemp("weights")
    save_file(state, folder / "tiny.safetensors")
    torch.save({"state_dict": state}, folder / "tiny.pth")
    return {path.suffix: path for path in folder.iterdir()}


@pytest.mark.rotating
@pytest.mark.parametrize("name", SETTINGS)
def test_pretrained_weights_are_used(
    name: str, weights: dict[str, Path], demo_packs: dict[str, Path], tmp_path: Path
) -> None:
    """Weights from the zip reach the network: a run with them answers otherwise than one without."""
    file = weights[".safetensors" if SETTINGS.index(name) % 2 else ".pth"]

    def scores(method: dict[str, Any], files: tuple[Path, ...]) -> list[float]:
        changes = {"method": {**FEW, **method}}
        run = try_baseline(name, demo_packs, tmp_path, tasks=4, changes=changes, files=files)
        assert run.outcome.failure is None, run.outcome.failure
        assert run.predictions is not None
        return run.predictions.predictions.tolist()

    assert scores({"weights": file.name}, (file,)) != scores({}, ())


@pytest.mark.rotating
@pytest.mark.parametrize("name", SETTINGS)
def test_missing_weights_are_named(name: str, demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """The participant reads which file is missing, where it was looked for and what to do."""
    run = try_baseline(name, demo_packs, tmp_path, tasks=2, changes={"method": {"weights": "absent.pt"}})
    failure = run.outcome.failure
    assert failure is not None and "absent.pt" in failure.message
    assert "/weights/absent.pt" in failure.message and "put the file into the zip" in failure.message

"""Every bundle as a submission: it learns, serves tasks of any shape, and takes or misses pretrained weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save_file

from tests.baselines.trial import FOLDER, NAMES, Expected, try_baseline

TINY = "test_resnet"  # of timm: 0.5 million weights
SETTINGS = [name for name in NAMES if "method" in json.loads((FOLDER / name / "config.json").read_text())]
FEW = {"iterations": 4, "backbone": f"timm:{TINY}", "backbones": [f"timm:{TINY}"], "test_steps": 5}


@pytest.mark.rotating
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", NAMES)
def test_quick_settings_learn(name: str, demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """The score is as recorded and, but for guessing, above chance; tasks of all shapes are answered in time."""
    expected = Expected.read(name)
    run = try_baseline(name, demo_packs, tmp_path, seed=expected.seed)
    assert run.outcome.failure is None, run.outcome.failure
    assert run.table is not None and run.summary is not None
    low, high = expected.score
    assert low <= run.summary.mean <= high
    error = run.table.normalized_accuracy.std(ddof=1) / len(run.table) ** 0.5
    assert name == "random" or run.summary.mean > 2 * error
    assert len(np.unique(run.table.ways)) > 3 and run.table.ways.min() < 4 and run.table.ways.max() > 6
    assert run.table.shots.min() == 1 and run.table.shots.max() > 5
    assert run.outcome.time.participant_seconds < expected.seconds


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
@pytest.mark.timeout(300)
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

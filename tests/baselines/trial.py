"""Runs a baseline with its quick settings through the runner on the suite's generated packs."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from anyshot_core.baselines import find_baselines, pack_baseline
from anyshot_core.protocols import Range
from anyshot_core.taskserver.job import Hooks
from anyshot_core.wire.worker_api import Budget
from anyshot_starting_kit import api
from anyshot_starting_kit.dryrun.evaluate import DryRun, DryRunPlan, carry_out
from anyshot_starting_kit.dryrun.publicdata import PublicData
from anyshot_studies.experiment.arms import Arm
from tests.services.material import TEST, TRAIN

FOLDER = Path(__file__).parents[2] / "baselines"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/model.py"))
TASKS = 16


@dataclass(frozen=True)
class Expected:
    """What `expected.toml` of a bundle says about its quick settings on these packs."""

    seed: int
    score: tuple[float, float]
    seconds: float
    memory_mib: int

    @classmethod
    def read(cls, name: str) -> Expected:
        """Of a bundle."""
        data = tomllib.loads((FOLDER / name / "expected.toml").read_text())
        return cls(data["seed"], tuple(data["score"]), data["seconds"], data["memory_mib"])


def load_model(name: str, **method: Any) -> ModuleType:
    """A bundle's `model.py`, imported from its own folder, with these settings only."""
    sys.modules.setdefault("api", api)  # as the runner provides it
    spec = importlib.util.spec_from_file_location(f"baseline_{name}", FOLDER / name / "model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module)["SETTINGS"] = type(module.SETTINGS).from_dict(method)
    return module


def try_baseline(
    name: str,
    packs: Mapping[str, Path],
    folder: Path,
    *,
    seed: int = 93,
    tasks: int = TASKS,
    changes: Mapping[str, Any] | None = None,
    files: tuple[Path, ...] = (),
    budget: float = 1200.0,
    settings: str = "quick",
) -> DryRun:
    """One run on tasks of 2 to 8 ways and 1 to 8 shots."""
    bundle = folder / f"{name}.zip"
    baseline = find_baselines((name,), FOLDER)[0]
    taken = Arm(changes=changes or {}).changes_of(baseline, settings)
    pack_baseline(baseline, bundle, settings, taken, files)
    data = PublicData(tuple(packs[n] for n in TRAIN), tuple(packs[n] for n in TEST), generated=True)
    plan = DryRunPlan(
        bundle=bundle,
        data=data,
        tasks=tasks,
        train_seed=seed,
        test_seed=seed,
        ways=Range(2, 8),
        shots=Range(1, 8),
        query=10,
        budget=Budget(run_seconds=budget),
        cpus=1,  # small networks gain nothing from a second core, and lose much where it is busy
    )
    return carry_out(plan, Hooks())

"""What an experiment runs, and where each run's results lie, so that it can go on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyshot_starting_kit.dryrun.evaluate import Plan
from anyshot_starting_kit.dryrun.publicdata import PublicData
from anyshot_starting_kit.experiment.bundles import Baseline
from anyshot_starting_kit.protocols import Range
from anyshot_starting_kit.wire.worker_api import Budget


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to run a baseline: the label added to its name, changes to its config.json, files for its zip."""

    label: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()

    def name(self, baseline: Baseline) -> str:
        """As tables show it."""
        return f"{baseline.name} ({self.label})" if self.label else baseline.name


@dataclass(frozen=True, slots=True)
class Experiment:
    """Baselines times arms times seeds on one pool; a seed is both the training seed and the test seed."""

    baselines: tuple[Baseline, ...]
    data: PublicData
    output: Path
    seeds: tuple[int, ...]
    tasks: int
    settings: str = ""
    arms: tuple[Arm, ...] = (Arm(),)
    ways: Range = Range(2, 20)  # noqa: RUF009 - frozen
    shots: Range = Range(1, 20)  # noqa: RUF009 - frozen
    query: int = 20
    budget_seconds: float = 18_000.0
    sandbox: str | None = None
    cpus: int | None = None  # all

    def runs(self) -> list[Run]:
        """Seed by seed, so that after the first pass there is a first table."""
        return [
            Run(self, baseline, arm, seed)
            for seed in self.seeds
            for arm in self.arms
            for baseline in self.baselines
        ]


@dataclass(frozen=True, slots=True)
class Run:
    """One baseline, arm and seed."""

    experiment: Experiment
    baseline: Baseline
    arm: Arm
    seed: int

    @property
    def name(self) -> str:
        """Baseline and arm."""
        return self.arm.name(self.baseline)

    def results(self, digest: str) -> Path:
        """Where its per-task results lie when it is done: the name changes with all that decides the result."""
        e = self.experiment
        facts = [digest, self.seed, e.tasks, e.budget_seconds, [e.ways.low, e.ways.high], e.query]
        facts += [[e.shots.low, e.shots.high], [p.name for p in (*e.data.train, *e.data.test)]]
        key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]
        return e.output / "runs" / f"{self.name.replace(' ', '-')}-{self.seed}-{key}.parquet"

    def plan(self, bundle: Path) -> Plan:
        """For the runner that dry runs use too."""
        e = self.experiment
        return Plan(
            bundle=bundle,
            data=e.data,
            tasks=e.tasks,
            train_seed=self.seed,
            test_seed=self.seed,
            budget=Budget(run_seconds=e.budget_seconds),
            ways=e.ways,
            shots=e.shots,
            query=e.query,
            sandbox=e.sandbox,
            cpus=e.cpus,
        )

"""What an experiment runs, and where each run's results lie, so that it can go on where it stopped."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anyshot_core.baselines import ExperimentBundle
from anyshot_core.data.layout import read_meta
from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.evaluations import EvaluationPoint, FurtherEvaluation
from anyshot_core.protocols import AnyWayAnyShot, ProtocolError, Range, Roles, WithinDomain
from anyshot_core.protocols.splits import CLASS_SPLITS, PARTS, split_classes
from anyshot_core.wire.worker_api import Budget
from anyshot_starting_kit.dryrun.evaluate import DryRunPlan
from anyshot_starting_kit.dryrun.further_evaluations import all_points, further_pool, point_name
from anyshot_starting_kit.dryrun.publicdata import PublicData
from anyshot_studies.experiment.arms import Arm
from anyshot_studies.experiment.fingerprints import derive_seed, kit_digest, pack_digest


@dataclass(frozen=True, slots=True)
class Experiment:
    """Baselines times arms times seeds on one pool; a seed is both the training seed and the test seed.

    With `within`, the name of a class split, each dataset is a run of its own: trained on the classes of its meta-train
    part, validated on its meta-valid part where the split has one, tested on `tasks` tasks of its meta-test part, by a
    seed derived from the experiment's and its name.
    """

    baselines: tuple[ExperimentBundle, ...]
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
    within: str = ""
    roles: Roles | None = None  # in place of any-way any-shot tasks, or of the rest of what `within` says
    further: tuple[FurtherEvaluation, ...] = ()  # of the same learners, which are kept for it

    def runs(self) -> list[PlannedRun]:
        """Seed by seed, so that after the first pass there is a first table; no arm that would change nothing."""
        datasets = self.split_datasets()[0] if self.within else (None,)
        return [
            PlannedRun(self, baseline, arm, seed, dataset)
            for seed in self.seeds
            for arm in self.arms
            for baseline in self.baselines
            if not arm.why_not(baseline, self.settings)
            for dataset in datasets
        ]

    @property
    def runs_a_seed(self) -> int:
        """How many of the runs have the first seed, and then the next."""
        return len(self.runs()) // len(self.seeds)

    def protocol_within(self) -> WithinDomain:
        """The tasks of each dataset's meta-test part."""
        return WithinDomain(ways=self.ways, shots=self.shots, query=self.query, split=self.within)

    def split_datasets(self) -> tuple[tuple[Path, ...], tuple[str, ...]]:
        """The packs of the test pool that offer such tasks, and why each other one does not.

        Raises ProtocolError where none does.
        """
        found, reasons = [], []
        for path in self.data.test:
            try:
                self.protocol_within().check(Pool.open([path], verify=False))
                found.append(path)
            except ProtocolError as error:
                reasons.append(str(error))
        if not found:
            raise ProtocolError(f"No dataset can be split ({self.within}). {reasons[0]}")
        return tuple(found), tuple(reasons)


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One baseline, arm and seed; and one dataset where training and test are within it."""

    experiment: Experiment
    baseline: ExperimentBundle
    arm: Arm
    seed: int
    dataset: Path | None = None

    @property
    def name(self) -> str:
        """How tables call it: the baseline, and its arm where it has several."""
        return self.arm.name(self.baseline)

    @property
    def title(self) -> str:
        """Name, seed, and the dataset where there is one."""
        return f"{self.name}, seed {self.seed}" + (f", {self.place}" if self.place else "")

    @property
    def place(self) -> str:
        """The dataset's name; empty across datasets."""
        return "" if self.dataset is None else read_meta(self.dataset)[0].name

    @property
    def own_seed(self) -> int:
        """What trains and draws the tasks: the experiment's seed, within a dataset one of that dataset's own."""
        return self.seed if self.dataset is None else derive_seed(self.seed, self.place)

    def results(self, digest: str) -> Path:
        """Where its per-task results lie when it is done: the name changes with all that decides the result."""
        e = self.experiment
        facts: list[Any] = [kit_digest(), digest, self.own_seed, e.tasks, e.budget_seconds, e.query]
        facts += [[e.ways.low, e.ways.high], [e.shots.low, e.shots.high]]
        if e.roles is not None:
            chosen = (e.roles.test, e.roles.train, e.roles.validation)
            facts += [[None if protocol is None else protocol.to_dict() for protocol in chosen], e.data.named]
        if self.dataset is None:
            facts += [[pack_digest(path) for path in packs] for packs in (e.data.train, e.data.test)]
        else:  # whatever other datasets the experiment has
            facts += [e.within, pack_digest(self.dataset), "validated"]
        key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]
        return e.output / "runs" / f"{self.name.replace(' ', '-')}-{self.seed}-{key}.parquet"

    def learner(self, results: Path) -> Path:
        """Where the learner of a run lies whose results are there."""
        return self.experiment.output / "learners" / f"{results.stem}.bin"

    def further_results(self, results: Path, evaluation: FurtherEvaluation, point: EvaluationPoint) -> Path:
        """Where the results of one point of a further evaluation lie: the name changes with all that decides them."""
        packs = further_pool(self.data, evaluation)
        facts = [evaluation.tasks or self.experiment.tasks, point.protocol.to_dict(), point.domain]
        key = hashlib.sha256(
            json.dumps([facts, [pack.content_digest for pack in packs]]).encode()
        ).hexdigest()[:12]
        return results.with_name(f"{results.stem}.{point_name(evaluation, point)}.{key}.parquet")

    def points(self) -> list[tuple[FurtherEvaluation, EvaluationPoint]]:
        """Every further test of its learner."""
        return list(all_points(self.data, self.roles, self.experiment.further))

    @property
    def data(self) -> PublicData:
        """What it is trained and tested on."""
        e = self.experiment
        return e.data if self.dataset is None else replace(e.data, train=(), test=(self.dataset,))

    def plan(self, bundle: Path) -> DryRunPlan:
        """For the runner that dry runs use too; packs of training classes are written beside the bundle."""
        e = self.experiment
        return DryRunPlan(
            bundle=bundle,
            data=self.data,
            further=e.further,
            protocol=self.roles.test,
            train_protocol=self.roles.train,
            validation_protocol=self.roles.validation,
            tasks=e.tasks,
            train_seed=self.own_seed,
            test_seed=self.own_seed,
            budget=Budget(run_seconds=e.budget_seconds),
            ways=e.ways,
            shots=e.shots,
            query=e.query,
            sandbox=e.sandbox,
            cpus=e.cpus,
        )

    @property
    def roles(self) -> Roles:
        """What is trained, validated and tested by."""
        e = self.experiment
        if self.dataset is None:
            return e.roles or Roles(AnyWayAnyShot(ways=e.ways, shots=e.shots, query=e.query))
        test = e.protocol_within()
        if not CLASS_SPLITS[e.within][PARTS.index("meta_valid")]:
            return Roles(test)
        pack = Pack.open(self.dataset, verify=False)
        valid = replace(test, part="meta_valid", ways=Range(2, 20))
        few = len(split_classes(pack, CLASS_SPLITS[e.within], valid.split_seed)[1]) < 2
        return Roles(test) if few else Roles(test, validation=valid)

"""Carries a dry run out."""

import importlib.metadata
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.evaluations import EvaluationPoint, FurtherEvaluation, PointScore, pool_part
from anyshot_core.exports import Asked, Exporting, check_asked, make_exports
from anyshot_core.protocols import AnyWayAnyShot, Protocol, Range, Roles
from anyshot_core.protocols.cutting import Shown
from anyshot_core.protocols.keys import Seed
from anyshot_core.results.identity import Identity, Maker, digest_code
from anyshot_core.taskserver.channel import Channel, NoSandbox
from anyshot_core.taskserver.child import ChildChannel
from anyshot_core.taskserver.job import Hooks, JobOutcome, TaskServerJob
from anyshot_core.taskserver.joined import serve_parts
from anyshot_core.taskserver.scores import collect
from anyshot_core.taskserver.server import default_cpus, serve, serve_features, serve_isolated
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.weights import default_folder
from anyshot_core.wire.worker_api import Budget, LogPolicy
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import RunSummary, summarize
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.dryrun.further_evaluations import check_further, further_pool, point_name, seen_pool
from anyshot_starting_kit.dryrun.parts import carry_out_parts, shown_packs
from anyshot_starting_kit.dryrun.publicdata import PublicData

SANDBOXES = "anyshot.sandboxes"  # entry point group: name -> callable(cpus, memory_bytes) -> Channel


@dataclass(frozen=True, slots=True)
class DryRunPlan:
    """What to run. `max_items` shortens meta-training;
    `sandbox` is a name such as "docker", None for a child process; `cpus` None for all that this process may use.
    `protocol` replaces any-way any-shot tasks with `ways`, `shots` and `query`; one that splits datasets trains on what
    it leaves of the datasets tested, unless `train_protocol` says otherwise. With `each_dataset`, each has a learner of
    its own and an equal part of the time.
    With `learner`, a file that an earlier run kept, meta-training is skipped; `keep_learner` is where to keep it.
    `query_secret` is the key of the order in which queries are shown; `hide_names`: of the datasets trained on.
    `further` are evaluations of the same learner (`dryrun.further_evaluations`), `exports` what is written of it, and
    `keep_snapshots` the folder for snapshots of its training.
    """

    bundle: Path
    data: PublicData
    tasks: int = 40
    train_seed: int = 93
    test_seed: Seed = 93
    budget: Budget = field(default_factory=lambda: Budget(run_seconds=5 * 3600))
    ways: Range = Range(2, 20)  # noqa: RUF009 - frozen
    shots: Range = Range(1, 20)  # noqa: RUF009 - frozen
    query: int = 20
    max_items: int | None = None
    isolated_tasks: bool = False
    sandbox: str | None = None
    memory_bytes: int = 4 << 30
    cpus: int | None = None
    protocol: Protocol | None = None
    train_protocol: Protocol | None = None
    validation_protocol: Protocol | None = None
    each_dataset: bool = False
    learner: Path | None = None
    keep_learner: Path | None = None
    further: tuple[FurtherEvaluation, ...] = ()
    exports: Asked = Asked()  # noqa: RUF009 - frozen
    query_secret: bytes = b"dry run"
    hide_names: bool = False
    keep_snapshots: Path | None = None

    @property
    def tasks_protocol(self) -> Protocol:
        """The protocol that the tasks are drawn by."""
        return self.protocol or AnyWayAnyShot(ways=self.ways, shots=self.shots, query=self.query)

    @property
    def roles(self) -> Roles:
        """The protocols of training, validation and test."""
        return Roles(self.tasks_protocol, self.train_protocol, self.validation_protocol)

    def identify(self, who: str, outcome: JobOutcome, maker: Maker = Maker.DRY_RUN) -> Identity:
        """What the files of this run say that it was."""
        return Identity(
            maker=maker,
            who=who,
            train_seed=self.train_seed,
            test_seed=self.test_seed if isinstance(self.test_seed, int) else None,
            tasks=self.tasks,
            protocol=self.tasks_protocol.to_dict(),
            train_pool=_digests(self.data.train),
            test_pool=_digests(self.data.test),
            code=digest_code(self.bundle),
            image=self.sandbox or "",
            versions=outcome.runner,
        )


def _digests(packs: Sequence[Path]) -> tuple[str, ...]:
    return tuple(Pack.open(path, verify=False).content_digest for path in packs)


@dataclass(frozen=True, slots=True)
class DryRun:
    """What came of it; the last three are None where the run failed."""

    outcome: JobOutcome
    predictions: Predictions | None = None
    table: TaskTable | None = None
    summary: RunSummary | None = None


def carry_out(plan: DryRunPlan, hooks: Hooks) -> DryRun:
    """Meta-train, meta-test, score. Raises NoSandbox, DataError; failures of the submission are in the outcome."""
    pool = Pool.open(plan.data.test, verify=False)
    protocol = plan.tasks_protocol
    protocol.check(pool)
    check_further(plan.data, plan.roles, plan.further)
    check_exports(plan)
    tasks = PoolTasks(pool, protocol, plan.test_seed, 0, plan.tasks)
    with tempfile.TemporaryDirectory() as folder:
        shown = shown_packs(plan.data, plan.roles, Path(folder))
        if plan.each_dataset:

            def serve_dataset(place: int, part_hooks: Hooks) -> JobOutcome:
                own = Shown(shown.train[place : place + 1], shown.validation[place : place + 1])
                job = _job(plan, own, replace(tasks, dataset=place), len(pool))
                return _serve(plan, job, part_hooks)

            outcome = carry_out_parts(len(pool), serve_dataset, hooks)
        else:
            outcome = _serve(plan, _job(plan, shown, tasks), hooks)
    return _scored(outcome, tasks)


@dataclass(frozen=True, slots=True)
class PointRun:
    """One point of a further evaluation, and what came of it; `pool` are the digests of its packs."""

    evaluation: FurtherEvaluation
    point: EvaluationPoint
    pool: tuple[str, ...]
    run: DryRun

    @property
    def name(self) -> str:
        """What files call it."""
        return point_name(self.evaluation, self.point)

    @property
    def score(self) -> PointScore:
        """Its score, or why there is none."""
        failure = self.run.outcome.failure
        message = "" if failure is None else f"{failure.verdict}: {failure.message}"
        return PointScore.of(self.evaluation, self.point, self.run.summary, message)


def carry_out_further(
    plan: DryRunPlan,
    evaluation: FurtherEvaluation,
    points: Sequence[EvaluationPoint],
    learner: Path,
    hooks: Hooks,
) -> list[PointRun]:
    """Test a kept learner at points of an evaluation, in one job: meta-test alone, with the run's budget for each.

    The result of each is to the last digit what a job of its own would give.
    """
    pools = [pool_part(further_pool(plan.data, evaluation), point) for point in points]
    count = evaluation.tasks or plan.tasks
    parts = [
        PoolTasks(pool, point.protocol, plan.test_seed, 0, count)
        for pool, point in zip(pools, points, strict=True)
    ]
    job = replace(_job(plan, Shown(()), parts[0]), learner=learner, keep_learner=None)
    outcomes = serve_parts(lambda joined: _serve(plan, joined, hooks), job, parts)
    return [
        PointRun(evaluation, point, tuple(pack.content_digest for pack in pool), _scored(outcome, tasks))
        for point, pool, tasks, outcome in zip(points, pools, parts, outcomes, strict=True)
    ]


def check_exports(plan: DryRunPlan) -> None:
    """Raise `ProtocolError` where an export cannot be made of these protocols and packs."""
    if plan.exports.snapshots:
        seen, test = seen_pool(plan.data, plan.roles), Pool.open(plan.data.test, verify=False)
        check_asked(plan.exports, plan.roles, seen, test)


def export(
    plan: DryRunPlan, run: DryRun, learner: Path, folder: Path, hooks: Hooks
) -> tuple[list[Path], list[str]]:
    """The exports of a run that did not fail, from the learner that it kept; and notes on those that were not made."""
    tasks = PoolTasks(
        Pool.open(plan.data.test, verify=False), plan.tasks_protocol, plan.test_seed, 0, plan.tasks
    )

    def features(job: TaskServerJob, images: np.ndarray) -> JobOutcome:
        with closing(channel_opener(plan.sandbox, job.cpus, plan.memory_bytes)()) as channel:
            return serve_features(channel, job, images, hooks)

    return make_exports(
        Exporting(
            asked=plan.exports,
            job=_job(plan, Shown(()), tasks),
            tasks=tasks,
            roles=plan.roles,
            learner=learner,
            results=run.outcome.results,
            snapshots=run.outcome.snapshots,
            serve=lambda job: _serve(plan, job, hooks),
            serve_features=features,
            folder=folder,
        )
    )


def _scored(outcome: JobOutcome, tasks: PoolTasks) -> DryRun:
    """What a run without a failure found."""
    if outcome.failure is not None:
        return DryRun(outcome)
    pool = tasks.pool
    predictions = collect(outcome.results, tasks, pool.names, [pack.domain for pack in pool])
    table = predictions.score()
    return DryRun(outcome, predictions, table, summarize(table, tasks.stop))


def _job(plan: DryRunPlan, shown: Shown, tasks: PoolTasks, parts: int = 1) -> TaskServerJob:
    return TaskServerJob(
        bundle=plan.bundle,
        packs=shown.train,
        validation_packs=shown.validation,
        train_protocol=plan.train_protocol,
        validation_protocol=plan.validation_protocol,
        tasks=tasks,
        budget=plan.budget.model_copy(update={"run_seconds": plan.budget.run_seconds / parts}),
        train_seed=plan.train_seed,
        query_secret=plan.query_secret,
        hide_dataset_names=plan.hide_names,
        log_policy=LogPolicy.EVERYTHING,
        learner=plan.learner,
        keep_learner=plan.keep_learner,
        try_checkpoint=plan.learner is None,
        snapshots=plan.exports.snapshots,
        keep_snapshots=plan.keep_snapshots,
        probabilities=plan.exports.probabilities,
        cpus=plan.cpus or default_cpus(),
        max_items=plan.max_items,
    )


def _serve(plan: DryRunPlan, job: TaskServerJob, hooks: Hooks) -> JobOutcome:
    open_channel = channel_opener(plan.sandbox, job.cpus, plan.memory_bytes)
    if plan.isolated_tasks:
        return serve_isolated(open_channel, job, hooks)
    with closing(open_channel()) as channel:
        return serve(channel, job, hooks)


def require_sandbox(sandbox: str | None, memory_bytes: int) -> None:
    """Open a box and close it, so that one who lacks it hears so before data are made. Raises NoSandbox."""
    if sandbox is not None:
        channel_opener(sandbox, 1, memory_bytes)().close()


def channel_opener(sandbox: str | None, cpus: int, memory_bytes: int) -> Callable[[], Channel]:
    """What opens a fresh runner. Raises NoSandbox where no installed package offers that sandbox."""
    if sandbox is None:
        weights = default_folder()
        return lambda: ChildChannel(threads=cpus, weights=weights if weights.is_dir() else None)
    offered = {entry.name: entry for entry in importlib.metadata.entry_points(group=SANDBOXES)}
    if sandbox not in offered:
        raise NoSandbox(
            f"No installed package offers the sandbox {sandbox}. Install anyshot-worker, which brings it, or run"
            " without it, in a child process."
        )
    start: Any = offered[sandbox].load()
    return lambda: start(cpus=cpus, memory_bytes=memory_bytes)

"""Carries an experiment out, run by run; a run that is done is not done again."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from anyshot_core.baselines import pack_baseline
from anyshot_core.evaluations import EvaluationPoint, FurtherEvaluation
from anyshot_core.results import BadResultsFile, Identity, Maker, read_results, write_results
from anyshot_core.taskserver.job import Hooks
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.dryrun.evaluate import DryRun, DryRunPlan, PointRun, carry_out, carry_out_further
from anyshot_starting_kit.dryrun.further_evaluations import by_evaluation, point_name
from anyshot_studies.experiment.plan import Experiment, PlannedRun


@dataclass(frozen=True, slots=True)
class Done:
    """A finished run; `table` is None where the submission failed: `message` says how in a line, `detail` in many.

    `further` are the scores and tables of further evaluations, by the names that files have.
    """

    name: str
    seed: int
    table: TaskTable | None
    seconds: float
    message: str = ""
    resumed: bool = False
    detail: str = ""
    further: Mapping[str, FurtherTable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FurtherTable:
    """One point of a further evaluation of a run; `table` is None where it failed, `message` says how."""

    evaluation: FurtherEvaluation
    point: EvaluationPoint
    table: TaskTable | None
    message: str = ""


def run_experiment(
    experiment: Experiment,
    on_run: Callable[[int, int, PlannedRun], Hooks] = lambda *_: Hooks(),
    jobs: int = 1,
) -> Iterator[Done]:
    """Each run in its order, seed by seed, `jobs` at a time; a failed one does not stop the others.

    Who stops asking ends those that go on. Raises DataError, NoSandbox.
    """
    runs, stop = experiment.runs(), threading.Event()

    def carry_out_one(number: int, run: PlannedRun) -> Done:
        hooks = on_run(number, len(runs), run)
        return _run(run, replace(hooks, cancelled=lambda: stop.is_set() or hooks.cancelled()))

    if jobs == 1:
        for number, run in enumerate(runs, start=1):
            yield carry_out_one(number, run)
        return
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="experiment")  # each run is a process of its own
    try:
        yield from pool.map(carry_out_one, range(1, len(runs) + 1), runs)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def comparable(experiment: Experiment, done: Sequence[Done]) -> list[Done]:
    """The runs of the seeds that are through, or while none is, of the first: those within datasets joined."""
    each = experiment.runs_a_seed
    through = done[: len(done) // each * each] or done
    if not experiment.within:
        return list(through)
    return merge(through, len(experiment.split_datasets()[0]))


def merge(done: Sequence[Done], datasets: int) -> list[Done]:
    """The datasets of each baseline and seed as one run, its tasks numbered on; failed where one of them did.

    What lacks one of the datasets yet is left out.
    """
    groups: dict[tuple[str, int], list[Done]] = {}
    for run in done:
        groups.setdefault((run.name, run.seed), []).append(run)
    return [_merged(name, seed, runs) for (name, seed), runs in groups.items() if len(runs) == datasets]


def _merged(name: str, seed: int, runs: Sequence[Done]) -> Done:
    seconds, tables = sum(run.seconds for run in runs), [run.table for run in runs if run.table is not None]
    if len(tables) < len(runs):
        failed = next(run for run in runs if run.table is None)
        return replace(failed, seconds=seconds)
    return Done(name, seed, _joined(tables), seconds, further=_merged_further([run.further for run in runs]))


def _joined(tables: Sequence[TaskTable]) -> TaskTable:
    whole = TaskTable.concatenate(list(tables))
    return replace(whole, task=np.arange(len(whole)))


def _merged_further(parts: Sequence[Mapping[str, FurtherTable]]) -> dict[str, FurtherTable]:
    """Of each point the tasks of all datasets; failed where one of them did."""
    found: dict[str, FurtherTable] = {}
    for name in {name: None for part in parts for name in part}:
        own = [part[name] for part in parts if name in part]
        failed = next((one for one in own if one.table is None), None)
        tables = [one.table for one in own if one.table is not None]
        found[name] = failed or replace(own[0], table=_joined(tables))
    return found


def _run(run: PlannedRun, hooks: Hooks) -> Done:
    with tempfile.TemporaryDirectory() as folder:
        bundle, settings = Path(folder) / "baseline.zip", run.experiment.settings
        pack_baseline(
            run.baseline, bundle, settings, run.arm.changes_of(run.baseline, settings), run.arm.files
        )
        target = run.results(hashlib.sha256(bundle.read_bytes()).hexdigest())
        plan, learner, lacking = run.plan(bundle), run.learner(target), _lacking(run, target)
        before = _read(run, target)
        if before is None or (lacking and not learner.is_file()):
            before = _train(run, plan, target, learner if run.experiment.further else None, hooks)
            if before.table is None:
                return before
        _test_further(run, plan, target, lacking, hooks)
        return replace(before, further=_read_further(run, target), resumed=before.resumed and not lacking)


def _train(run: PlannedRun, plan: DryRunPlan, target: Path, learner: Path | None, hooks: Hooks) -> Done:
    """Meta-train and test; the learner is kept where a file for it is named."""
    if learner is not None:
        learner.parent.mkdir(parents=True, exist_ok=True)
    result = carry_out(replace(plan, keep_learner=learner), hooks)
    identity = _identify(run, plan, result)
    seconds, failure = result.outcome.time.participant_seconds, result.outcome.failure
    if failure is not None:
        place = f"{run.place}: " if run.place else ""
        first, _, rest = f"{place}{failure.verdict}: {failure.message}".partition("\n")
        parts = (rest, failure.private or failure.detail)
        return Done(run.name, run.seed, None, seconds, first, detail="\n".join(filter(None, parts)))
    assert result.table is not None and identity is not None  # the run did not fail
    _write(target, result.table, identity)
    return Done(run.name, run.seed, result.table, seconds)


def _write(target: Path, table: TaskTable, identity: Identity) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    write_results(partial, table, identity)
    partial.replace(target)


def _lacking(run: PlannedRun, target: Path) -> list[tuple[FurtherEvaluation, EvaluationPoint]]:
    """The points that have no results yet."""
    return [point for point in run.points() if not run.further_results(target, *point).is_file()]


def _test_further(
    run: PlannedRun,
    plan: DryRunPlan,
    target: Path,
    lacking: Sequence[tuple[FurtherEvaluation, EvaluationPoint]],
    hooks: Hooks,
) -> None:
    """Test the kept learner where there are no results yet; a failure is written too, as a sentence."""
    for evaluation, points in by_evaluation(lacking):
        for tested in carry_out_further(plan, evaluation, points, run.learner(target), hooks):
            _keep_further(run, plan, target, tested)


def _keep_further(run: PlannedRun, plan: DryRunPlan, target: Path, tested: PointRun) -> None:
    file = run.further_results(target, tested.evaluation, tested.point)
    identity = _identify(run, plan, tested.run)
    if tested.run.table is None or identity is None:
        file.with_suffix(".failed").write_text(tested.score.message, encoding="utf-8")
        return
    changes = {
        "evaluation": tested.name,
        "tasks": len(tested.run.table),
        "protocol": tested.point.protocol.to_dict(),
        "test_pool": tested.pool,
    }
    _write(file, tested.run.table, identity.model_copy(update=changes))


def _read_further(run: PlannedRun, target: Path) -> dict[str, FurtherTable]:
    found: dict[str, FurtherTable] = {}
    for evaluation, point in run.points():
        file, table, message = run.further_results(target, evaluation, point), None, ""
        try:
            table = read_results(file).table
        except (FileNotFoundError, BadResultsFile):
            failed = file.with_suffix(".failed")
            message = failed.read_text(encoding="utf-8") if failed.is_file() else "no results"
        found[point_name(evaluation, point)] = FurtherTable(evaluation, point, table, message)
    return found


def _identify(run: PlannedRun, plan: DryRunPlan, result: DryRun) -> Identity | None:
    """What the run was: of a dataset within the experiment's seed it is a part."""
    if result.table is None:
        return None
    seconds = round(result.outcome.time.participant_seconds, 3)
    identity = plan.identify(run.name, result.outcome, Maker.EXPERIMENT)
    return identity.model_copy(update={"run": str(run.seed), "part": run.place, "seconds": seconds})


def _read(run: PlannedRun, target: Path) -> Done | None:
    """The results of a run that is done; a file that cannot be read is none."""
    try:
        table, meta = read_results(target)
        return Done(run.name, run.seed, table, float(meta["seconds"]), resumed=True)
    except (FileNotFoundError, BadResultsFile, KeyError):
        return None

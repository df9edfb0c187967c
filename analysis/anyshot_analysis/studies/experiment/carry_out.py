"""Carries an experiment out, run by run; a run that is done is not done again."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from anyshot_analysis.studies.experiment.plan import Experiment, PlannedRun
from anyshot_core.baselines import pack_baseline
from anyshot_core.results import BadResultsFile, Identity, Maker, read_results, write_results
from anyshot_core.taskserver.job import Hooks
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.dryrun.evaluate import DryRun, DryRunPlan, carry_out


@dataclass(frozen=True, slots=True)
class Done:
    """A finished run; `table` is None where the submission failed: `message` says how in a line, `detail` in many."""

    name: str
    seed: int
    table: TaskTable | None
    seconds: float
    message: str = ""
    resumed: bool = False
    detail: str = ""


def run_experiment(
    experiment: Experiment, on_run: Callable[[int, int, PlannedRun], Hooks] = lambda *_: Hooks()
) -> Iterator[Done]:
    """Each run as it ends, seed by seed; a failed one does not stop the others. Raises DataError, NoSandbox."""
    runs = experiment.runs()
    for number, run in enumerate(runs, start=1):
        yield _run(run, on_run(number, len(runs), run))


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
    whole = TaskTable.concatenate(tables)
    return Done(name, seed, replace(whole, task=np.arange(len(whole))), seconds)


def _run(run: PlannedRun, hooks: Hooks) -> Done:
    with tempfile.TemporaryDirectory() as folder:
        bundle, settings = Path(folder) / "baseline.zip", run.experiment.settings
        pack_baseline(
            run.baseline, bundle, settings, run.arm.changes_of(run.baseline, settings), run.arm.files
        )
        target = run.results(hashlib.sha256(bundle.read_bytes()).hexdigest())
        if (before := _read(run, target)) is not None:
            return before
        plan = run.plan(bundle)
        result = carry_out(plan, hooks)
        identity = _identify(run, plan, result)
    seconds, failure = result.outcome.time.participant_seconds, result.outcome.failure
    if failure is not None:
        place = f"{run.place}: " if run.place else ""
        first, _, rest = f"{place}{failure.verdict}: {failure.message}".partition("\n")
        parts = (rest, failure.private or failure.detail)
        return Done(run.name, run.seed, None, seconds, first, detail="\n".join(filter(None, parts)))
    assert result.table is not None and identity is not None  # the run did not fail
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    write_results(partial, result.table, identity)
    partial.replace(target)
    return Done(run.name, run.seed, result.table, seconds)


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

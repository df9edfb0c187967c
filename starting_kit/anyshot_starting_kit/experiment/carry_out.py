"""Carries an experiment out, run by run; a run that is done is not done again."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.dryrun.evaluate import carry_out
from anyshot_starting_kit.experiment.bundles import pack_baseline
from anyshot_starting_kit.experiment.plan import Experiment, Run
from anyshot_starting_kit.results import read_results, write_results
from anyshot_starting_kit.taskserver.job import Hooks


@dataclass(frozen=True, slots=True)
class Done:
    """A finished run; `table` is None where the submission failed, and `message` says how."""

    name: str
    seed: int
    table: TaskTable | None
    seconds: float
    message: str = ""
    resumed: bool = False


def run_experiment(
    experiment: Experiment,
    on_run: Callable[[int, int, Run], Hooks] = lambda *_: Hooks(),
    on_done: Callable[[Done], object] = lambda _: None,
) -> list[Done]:
    """All runs in order; a failed one does not stop the others. Raises DataError, NoSandbox, BadResultsFile."""
    runs, done = experiment.runs(), []
    for number, run in enumerate(runs, start=1):
        hooks = on_run(number, len(runs), run)
        done.append(_run(run, hooks))
        on_done(done[-1])
        if hooks.cancelled():
            break
    return merge(done) if experiment.within else done


def merge(done: Sequence[Done]) -> list[Done]:
    """The datasets of each baseline and seed as one run, its tasks numbered on; failed where one of them did."""
    groups: dict[tuple[str, int], list[Done]] = {}
    for run in done:
        groups.setdefault((run.name, run.seed), []).append(run)
    return [_merged(name, seed, runs) for (name, seed), runs in groups.items()]


def _merged(name: str, seed: int, runs: Sequence[Done]) -> Done:
    seconds, tables = sum(run.seconds for run in runs), [run.table for run in runs if run.table is not None]
    if len(tables) < len(runs):
        failed = next(run for run in runs if run.table is None)
        return Done(name, seed, None, seconds, failed.message)
    whole = TaskTable.concatenate(tables)
    return Done(name, seed, replace(whole, task=np.arange(len(whole))), seconds)


def _run(run: Run, hooks: Hooks) -> Done:
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "baseline.zip"
        pack_baseline(run.baseline, bundle, run.experiment.settings, run.arm.changes, run.arm.files)
        target = run.results(hashlib.sha256(bundle.read_bytes()).hexdigest())
        if target.is_file():
            table, meta = read_results(target)
            return Done(run.name, run.seed, table, float(meta["seconds"]), resumed=True)
        result = carry_out(run.plan(bundle), hooks)
    seconds = result.outcome.time.participant_seconds
    failure = result.outcome.failure
    if failure is not None or result.table is None:
        text = (
            ""
            if failure is None
            else f"{failure.verdict}: {failure.message} {failure.private or failure.detail}"
        )
        return Done(run.name, run.seed, None, seconds, text.strip())
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    write_results(partial, result.table, {"name": run.name, "seed": run.seed, "seconds": round(seconds, 3)})
    partial.replace(target)
    return Done(run.name, run.seed, result.table, seconds)

"""What an analysis is given, and what it tells while it runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_core.data.pool import Pool
from anyshot_core.results import BadResultsFile, FoundRun, find_runs, read_predictions
from anyshot_scoring.predictions import ClassTable
from anyshot_scoring.reliability import ClassMatrix, ScoreMatrix, align_classes
from anyshot_scoring.table import TaskTable
from anyshot_scoring.undefined import Undefined

OF_THE_MODEL = Undefined(
    "of the board's model, calibrated on simulated boards; what rounds to 0 or 1 is not certain"
)
SAME_TASKS = (
    "The runs were tested on the same tasks: a task counts once, with the mean of the runs that count."
)

PACKS = "packs of datasets (NAME.anyshot-pack; `anyshot data pack FOLDER` makes them of a dataset's folder)"
NEEDED = {  # by role, in the words of who gives files
    "meta_test": PACKS,
    "meta_train": PACKS,
    "results": "results of runs (the folder of a dry run, or what `anyshot results -o` downloads)",
    "arrays": "arrays in .npz files (layers.npz of a run, or scores of configurations)",
    "snapshots": "snapshots.npz of a run (`anyshot dry-run --snapshots N`)",
    "estimates": "estimates.npz of a run (`anyshot dry-run --estimates`)",
    "probabilities": "probabilities.npz of a run (`anyshot dry-run --probabilities`)",
    "evaluations": "evaluations.json of a run (`anyshot dry-run --evaluate base --evaluate novel`)",
}
MOST_NAMED = 12  # files of too many that a message names


class BadAnalysis(ValueError):
    """An analysis that does not exist, or inputs and parameters that do not suit it."""


Progress = Callable[[str, int, int], None]  # what, done, of how many


def silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""


@dataclass(frozen=True)
class Inputs:
    """Files by role: `meta_train` and `meta_test` packs, `results` tables, `arrays` of layers, `snapshots`,
    `estimates` and `probabilities` that runs have exported.

    `predictions`, where given, are of the same runs as `results` and in the same order. `chosen` are some of the runs
    of `results`, or some of their rows, where not all count.
    """

    files: Mapping[str, Sequence[Path]]
    chosen: Mapping[str, list[FoundRun]] | None = None

    def paths(self, role: str, least: int = 1, most: int | None = None) -> list[Path]:
        """The files of a role; BadAnalysis if there are fewer than `least`, or more than `most`."""
        found = [Path(p) for p in self.files.get(role, ())]
        if len(found) < least:
            few = f"{least} of them, found {len(found)}" if least > 1 else "found none"
            raise BadAnalysis(f"this analysis takes {NEEDED.get(role, role)}: {few}")
        if most is not None and len(found) > most:
            raise BadAnalysis(_too_many(role, found, most))
        return found

    @cached_property
    def test_pool(self) -> Pool:
        """The meta-test pool, or the meta-train one where no other is given."""
        role = "meta_test" if self.files.get("meta_test") else "meta_train"
        return Pool.open(self.paths(role), verify=False)

    @cached_property
    def train_pool(self) -> Pool:
        """The meta-train pool, or the only one that was given."""
        role = "meta_train" if self.files.get("meta_train") else "meta_test"
        return Pool.open(self.paths(role), verify=False)

    @cached_property
    def results(self) -> dict[str, list[TaskTable]]:
        """Per-task tables of each submission, its runs in order, by the name that `find_runs` shows."""
        return {name: [run.table for run in runs] for name, runs in self.runs.items()}

    @cached_property
    def classes(self) -> dict[str, list[ClassTable]] | None:
        """Recognition of classes in each submission's runs, as `results`; None without `predictions`.

        Raises `BadAnalysis` if there are not as many files as of `results`.
        """
        given = [Path(path) for path in self.files.get("predictions", ())]
        if not given:
            return None
        if len(given) != len(self.paths("results")):
            raise BadAnalysis(
                f"{len(given)} predictions and {len(self.paths('results'))} results were given: one of each a run"
            )
        return {
            name: [_class_table([given[place] for place in run.positions], run.table) for run in runs]
            for name, runs in self.runs.items()
        }

    def align_classes(self, matrix: ScoreMatrix) -> ClassMatrix | None:
        """The classes of the submissions of `matrix` side by side; None without `predictions`."""
        return None if self.classes is None else align_classes(self.classes, matrix)

    @cached_property
    def runs(self) -> dict[str, list[FoundRun]]:
        """The runs of each submission with what is known of them. Raises `BadAnalysis` for files that do not fit."""
        if self.chosen is not None:
            return dict(self.chosen)
        try:
            return find_runs(self.paths("results"))
        except BadResultsFile as error:
            raise BadAnalysis(str(error)) from error

    @property
    def shares_tasks(self) -> bool:
        """Whether the runs of each submission were tested on the same tasks: their files say so, or seeds do."""
        several = [runs for runs in self.runs.values() if len(runs) > 1]
        lengths = {len(run.table) for runs in self.runs.values() for run in runs}
        return len(several) > 0 and len(lengths) == 1 and all(map(_share_tasks, several))

    def by_task(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of all runs, one a task: runs that were tested on the same tasks are no tasks more, their mean counts.

        Rows are those of one run after another, each by task.
        """
        if not self.shares_tasks:
            return values
        return values.reshape(-1, len(next(iter(self.runs.values()))[0].table)).mean(axis=0)


def _too_many(role: str, found: Sequence[Path], most: int) -> str:
    """Which files were found, of which somebody has to say what is meant."""
    names = ", ".join(map(str, found[:MOST_NAMED]))
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    several = f"the {most} that you mean" if most > 1 else "the one that you mean"
    return (
        f"this analysis takes {NEEDED.get(role, role)}: {most} of them, found {names}{more}. Name {several}"
    )


def _share_tasks(runs: Sequence[FoundRun]) -> bool:
    """Whether the runs of a submission say that they have the same tasks, or were drawn from one known seed."""
    seeds = {run.identity.test_seed for run in runs}
    return all(run.identity.same_test_tasks for run in runs) or (len(seeds) == 1 and None not in seeds)


def _class_table(paths: Sequence[Path], results: TaskTable) -> ClassTable:
    parts = [_read_classes(path) for path in paths]
    table = ClassTable(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(ClassTable)}
    )
    if not np.array_equal(np.unique(table.task), np.unique(results.task)):
        names = ", ".join(path.name for path in paths)
        raise BadAnalysis(f"{names} does not hold the predictions of the tasks of its run's results")
    return table


def _read_classes(path: Path) -> ClassTable:
    try:
        return read_predictions(path).predictions.class_table()
    except BadResultsFile as error:
        raise BadAnalysis(f"{path}: {error}") from error


def counter(progress: Progress, what: str, total: int) -> Callable[[int], None]:
    """A callback of increments as a progress of totals."""
    state = {"done": 0}

    def advance(count: int) -> None:
        state["done"] += count
        progress(what, state["done"], total)

    return advance

"""Submissions of a board that did not meet the same tasks: one that failed on a dataset has no results there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs
from anyshot_core.results import FoundRun
from anyshot_scoring.table import TaskTable


@dataclass(frozen=True)
class CommonTasks:
    """What is common to a board: `inputs` of it alone, `left_out` of it with reasons, `notes` that say so.

    `left_out` has submissions by their keys, each with the datasets that it failed on (none: it met other tasks), or
    datasets, each with the keys of those that failed there.
    """

    inputs: Inputs
    left_out: Mapping[str, Sequence[str]]
    notes: Sequence[str]

    @property
    def said(self) -> str:
        """For the end of a finding's clause: how many were left out."""
        return f" ({len(self.left_out)} left out, see the notes)" if self.left_out else ""

    @property
    def result(self) -> dict[str, dict[str, list[str]]]:
        """For the page's result, where something was left out."""
        return {"left_out": {k: list(v) for k, v in self.left_out.items()}} if self.left_out else {}


def keep_submissions(inputs: Inputs, names: Mapping[str, str]) -> CommonTasks:
    """The largest group of submissions that met the same tasks in the same runs; of equal ones that with more tasks.

    A submission with a task that has no score is in none. `names` are those that readers know, by submission.
    Raises `BadAnalysis` where no two are in one group.
    """
    groups: dict[object, list[str]] = {}
    for key, runs in inputs.runs.items():
        if all(np.isfinite(run.table.normalized_accuracy).all() for run in runs):
            groups.setdefault(_tasks_of(runs), []).append(key)
    kept = max(groups.values(), key=lambda own: (len(own), _count(inputs.runs[own[0]])), default=[])
    if len(kept) < 2:
        shown = ", ".join(names.get(key, key) for key in inputs.runs)
        raise BadAnalysis(f"no two of these submissions have results of the same runs and tasks: {shown}")
    known = inputs.runs[kept[0]]
    left_out = {key: _failed_on(own, known) for key, own in inputs.runs.items() if key not in kept}
    if not left_out:
        return CommonTasks(inputs, {}, [])
    chosen = {key: inputs.runs[key] for key in kept}
    return CommonTasks(replace(inputs, chosen=chosen), left_out, _say_submissions(left_out, names))


def keep_datasets(inputs: Inputs, names: Mapping[str, str]) -> CommonTasks:
    """The results on datasets that every submission has. Raises `BadAnalysis` where there is no such dataset."""
    lacks = lacking(inputs.runs)
    gone = sorted(set().union(*lacks.values()))
    if not gone:
        return CommonTasks(inputs, {}, [])
    left_out = {one: [key for key, own in lacks.items() if one in own] for one in gone}
    chosen = {
        key: [replace(run, table=run.table.select(~np.isin(run.table.dataset, gone))) for run in runs]
        for key, runs in inputs.runs.items()
    }
    if not all(len(run.table) for runs in chosen.values() for run in runs):
        raise BadAnalysis("there is no dataset that all of these submissions have results of")
    shown = [
        f"{one} ({', '.join(names.get(key, key) for key in who)} failed)" for one, who in left_out.items()
    ]
    note = f"Left out, since not all submissions have results there: {', '.join(shown)}."
    return CommonTasks(replace(inputs, chosen=chosen), left_out, [note])


def lacking(board: Mapping[str, Sequence[FoundRun]]) -> dict[str, set[str]]:
    """Datasets that a run of a submission has no results of, or not of all tasks, and the same run of another has."""
    found: dict[str, set[str]] = {key: set() for key in board}
    for place in range(max(map(len, board.values()))):
        own = {key: _datasets_of(runs[place].table) for key, runs in board.items() if place < len(runs)}
        known = set().union(*own.values())
        for key, datasets in own.items():
            found[key] |= known - datasets
    return found


def _failed_on(own: Sequence[FoundRun], known: Sequence[FoundRun]) -> list[str]:
    """Datasets of others, whose runs are `known`, that a submission lacks; none where it has datasets of its own."""
    lacks = lacking({"own": own, "known": known})
    return [] if lacks["known"] else sorted(lacks["own"])


def _datasets_of(table: TaskTable) -> set[str]:
    failed = set(table.dataset[~np.isfinite(table.normalized_accuracy)].tolist())
    return set(table.dataset.tolist()) - failed


def _tasks_of(runs: Sequence[FoundRun]) -> object:
    """The same of submissions that `align` puts side by side."""
    tables = [run.table.sorted() for run in runs]
    columns = [(table.task, table.dataset, table.ways, table.shots) for table in tables]
    return tuple(tuple(tuple(column.tolist()) for column in own) for own in columns)


def _count(runs: Sequence[FoundRun]) -> int:
    return sum(len(run.table) for run in runs)


def _say_submissions(left_out: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> list[str]:
    """Who was left out, those that failed on a dataset apart from those that met other tasks."""
    failed = [f"{names.get(key, key)} ({', '.join(own)})" for key, own in left_out.items() if own]
    others = [names.get(key, key) for key, own in left_out.items() if not own]
    told: list[str] = []
    if failed:
        told.append(f"Left out, failed on a dataset: {', '.join(failed)}.")
    if others:
        told.append(f"Left out, without the tasks of the others: {', '.join(others)}.")
    return [*told, "All figures here, the order too, are of the other submissions alone."]

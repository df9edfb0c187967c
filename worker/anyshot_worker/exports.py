"""The stage that exports what a phase asks for of a scored run: snapshots of training, features, estimates from
support sets, probabilities of its answers.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anyshot_core.exports import Asked, Exporting, make_exports
from anyshot_core.protocols import Roles
from anyshot_core.protocols.keys import read_seed
from anyshot_core.taskserver.job import Hooks, JobOutcome, TaskResult, TaskServerJob
from anyshot_core.taskserver.server import serve_features
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.jobs import Evaluate, Tested
from anyshot_worker.attempt import RunAttempt
from anyshot_worker.predictions import Boxes, TrainedLearner


@dataclass(frozen=True)
class Exports:
    """The files that could be made, and a note on each of those that could not."""

    files: list[Path]
    notes: list[str]


def asked_of(assignment: Tested) -> Asked:
    """What a job is asked to export: only a run that trains and is tested whole has all of it."""
    if not isinstance(assignment, Evaluate):
        return Asked()
    return Asked(assignment.snapshots, assignment.features, assignment.estimates, assignment.probabilities)


def export(
    attempt: RunAttempt[Tested],
    asked: Asked,
    job: TaskServerJob,
    tasks: PoolTasks,
    learner: TrainedLearner,
    results: Sequence[TaskResult],
) -> Exports:
    """Make the exports of a run with these results, each in sandboxes of its own.

    What the code prints meanwhile is kept nowhere: it runs on hidden tasks.
    """
    assert learner.file is not None  # a phase that exports keeps learners
    assignment, hooks = attempt.assignment, Hooks(cancelled=attempt.is_stopped)
    mark = assignment.tasks_mark

    def serve(job: TaskServerJob) -> JobOutcome:
        with closing(Boxes(attempt)) as boxes:
            return noted(boxes.serve(job, hooks))

    def features(job: TaskServerJob, images: np.ndarray) -> JobOutcome:
        with closing(Boxes(attempt)) as boxes:
            return noted(serve_features(boxes.open(), job, images, hooks))

    def noted(outcome: JobOutcome) -> JobOutcome:
        attempt.account.add_odd(outcome.time)
        return outcome

    made = make_exports(
        Exporting(
            asked=asked,
            job=job,
            tasks=tasks,
            roles=Roles(assignment.protocol, assignment.train_protocol, assignment.validation_protocol),
            learner=learner.file,
            results=results,
            snapshots=learner.snapshots,
            serve=serve,
            serve_features=features,
            folder=attempt.folder,
            tasks_mark=None if mark is None else read_seed(mark),
        )
    )
    return Exports(*made)

"""What a phase exports of a run that is scored: snapshots of training, features, estimates from support sets,
probabilities of its answers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from anyshot_core.exports import Asked, Exporting, make_exports
from anyshot_core.protocols import Roles
from anyshot_core.protocols.keys import read_seed
from anyshot_core.taskserver.channel import Channel
from anyshot_core.taskserver.job import Hooks, JobOutcome, LogLine, TaskServerJob
from anyshot_core.taskserver.server import serve, serve_features, serve_isolated
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.jobs import Evaluate, Tested
from anyshot_core.wire.worker_api import PlatformStep, Stage
from anyshot_worker.attempt import AttemptContext


def exports_of(assignment: Tested) -> Asked:
    """What a job is asked to export: only a run that trains and is tested whole has all of it."""
    if not isinstance(assignment, Evaluate):
        return Asked()
    return Asked(assignment.snapshots, assignment.features, assignment.estimates, assignment.probabilities)


def export(
    attempt: AttemptContext[Tested],
    job: TaskServerJob,
    tasks: PoolTasks,
    outcome: JobOutcome,
    open_channel: Callable[[], Channel],
) -> None:
    """Make and upload the exports, each in sandboxes of its own; the log says which could not be made, and why.

    What the code prints meanwhile is kept nowhere: it runs on hidden tasks.
    """
    assignment, asked = attempt.assignment, exports_of(attempt.assignment)
    if not asked or job.keep_learner is None:
        return
    mark = assignment.tasks_mark
    hooks = Hooks(cancelled=lambda: attempt.lease.stop_reason is not None)

    def again(job: TaskServerJob) -> JobOutcome:
        if assignment.isolated_tasks:
            return noted(serve_isolated(open_channel, job, hooks))
        with closing(open_channel()) as channel:
            return noted(serve(channel, job, hooks))

    def features(job: TaskServerJob, images: np.ndarray) -> JobOutcome:
        with closing(open_channel()) as channel:
            return noted(serve_features(channel, job, images, hooks))

    def noted(outcome: JobOutcome) -> JobOutcome:
        attempt.note_odd(outcome.time)
        return outcome

    attempt.report_stage(Stage.SCORING, "Exporting what the phase asks for")
    with attempt.step(PlatformStep.EXPORTS):
        made, notes = make_exports(
            Exporting(
                asked=asked,
                job=job,
                tasks=tasks,
                roles=Roles(assignment.protocol, assignment.train_protocol, assignment.validation_protocol),
                learner=job.keep_learner,
                results=outcome.results,
                snapshots=outcome.snapshots,
                serve=again,
                serve_features=features,
                folder=attempt.folder,
                tasks_mark=None if mark is None else read_seed(mark),
            )
        )
    for note in notes:
        attempt.log.add(LogLine("platform", Stage.SCORING, note))
    for path in made:
        attempt.upload(path.name, path)

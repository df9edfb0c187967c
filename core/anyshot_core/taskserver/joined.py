"""Several tests of one learner in one job: each ends as it would have ended in a job of its own."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from anyshot_core.taskserver.job import Failure, JobOutcome, TaskResult, TaskServerJob, TaskSource, TimeUse
from anyshot_core.taskserver.tasks import JoinedTasks
from anyshot_core.wire.verdicts import Cause


def serve_parts(
    serve: Callable[[TaskServerJob], JobOutcome], job: TaskServerJob, parts: Sequence[TaskSource]
) -> list[JobOutcome]:
    """The outcome of each part, of a job that starts from a learner; the time of a run is as many times that of one.

    A part in which the participant's code fails fails alone: those after it are carried out by another job. What fails
    for other reasons, or is cancelled, ends all that are left.
    """
    found = list[JobOutcome]()
    while len(found) < len(parts):
        left = JoinedTasks(tuple(parts[len(found) :]))
        seconds = job.budget.run_seconds * len(left.parts)
        budget = job.budget.model_copy(update={"run_seconds": seconds})
        outcome = serve(replace(job, tasks=left, budget=budget))
        found += _outcomes(outcome, left)
        if outcome.failure is not None and not _is_of_the_part(outcome.failure):
            found += [replace(found[-1], results=(), time=TimeUse())] * (len(parts) - len(found))
    return found


def _is_of_the_part(failure: Failure) -> bool:
    return failure.verdict.cause is Cause.PARTICIPANT


def _outcomes(whole: JobOutcome, tasks: JoinedTasks) -> list[JobOutcome]:
    """Those of the parts that were answered, and of the one that failed; the first has the time before its tasks."""
    answers = tasks.split(whole.results)
    if whole.failure is not None:
        counts = zip(answers, tasks.parts, strict=True)
        place = next((at for at, (own, part) in enumerate(counts) if len(own) < len(part.indices)), -1)
        answers = answers[: place + 1] if place >= 0 else answers
    found = [replace(whole, results=tuple(own), failure=None, time=_time(own)) for own in answers]
    later = [one.time.participant for one in found[1:]]
    used = whole.time.participant
    first = {step: spent - sum(part.get(step, 0.0) for part in later) for step, spent in used.items()}
    found[0] = replace(found[0], time=replace(whole.time, participant=first))
    found[-1] = replace(found[-1], failure=whole.failure)
    return found


def _time(results: Sequence[TaskResult]) -> TimeUse:
    steps = {
        "load": sum(one.load_seconds for one in results),
        "fit": sum(one.fit_seconds for one in results),
        "predict": sum(one.predict_seconds for one in results),
    }
    return TimeUse(participant=steps)

"""What a run goes through, from its job to the message that completes it: one function for each kind of job.

A run is a chain of stages. Each takes what it needs and gives what it made, as data and paths of files:

    materials -> learner -> predictions -> scores -> exports -> completion

Each stage has a module of its own. What is uploaded, logged and timed around the stages stands here.
"""

from collections.abc import Callable
from typing import Any

from anyshot_core.results import read_predictions
from anyshot_core.wire.jobs import Analyse, Evaluate, Job, MetaTest, Rescore, Smoke, Tested
from anyshot_core.wire.worker_api import Complete, PlatformStep, Stage
from anyshot_worker.attempt import RunAttempt
from anyshot_worker.checkpoints import find_earlier
from anyshot_worker.evidence import inspect
from anyshot_worker.exports import asked_of, export
from anyshot_worker.materials import gather_materials, list_parts
from anyshot_worker.predictions import collect_answers, describe_job, train_and_test
from anyshot_worker.scores import expected_tasks, identify, score


def evaluate(attempt: RunAttempt[Tested]) -> Complete:
    """Meta-train and meta-test a submission in sandboxes, and score it outside."""
    assignment, asked = attempt.assignment, asked_of(attempt.assignment)
    attempt.enter(Stage.PREPARING, "Fetching the submission and the datasets")
    with attempt.step(PlatformStep.PREPARE):
        materials = gather_materials(assignment, attempt.files)
    with attempt.step(PlatformStep.EVIDENCE):
        evidence = inspect(attempt.site.sandboxes, materials.submission)
    parts = list_parts(assignment, materials)

    earlier = find_earlier(attempt, parts)

    job = describe_job(assignment, materials, parts, asked, attempt.folder)
    learner, outcomes = train_and_test(attempt, job, parts, earlier)
    attempt.upload(learner.logger_tables)
    answers = collect_answers(attempt, parts, outcomes)

    attempt.enter(Stage.SCORING, "Scoring the predictions")
    with attempt.step(PlatformStep.SCORING):
        identity = identify(assignment, assignment.fingerprint, attempt.account.provenance)
        scores = score(answers.predictions, answers.expected, identity, attempt.folder)
    attempt.upload(scores.results, scores.predictions, learner.file)

    if asked and learner.file is not None:
        attempt.enter(Stage.SCORING, "Exporting what the phase asks for")
        with attempt.step(PlatformStep.EXPORTS):
            exports = export(attempt, asked, job, parts[0].tasks, learner, outcomes[0].results)
        for note in exports.notes:
            attempt.say(Stage.SCORING, note)
        attempt.upload(*exports.files)

    told = {"failures": answers.failures} if answers.failures else {}
    return _complete(attempt, summary=scores.summary, evidence=evidence, **told)


def rescore(attempt: RunAttempt[Rescore]) -> Complete:
    """Score the predictions of an earlier attempt again; nothing of the submission runs."""
    assignment = attempt.assignment
    attempt.enter(Stage.PREPARING, "Fetching the predictions")
    with attempt.step(PlatformStep.PREPARE):
        path = attempt.files.get(assignment.predictions, ".parquet")
    found = read_predictions(path)
    attempt.enter(Stage.SCORING, "Scoring the predictions")
    with attempt.step(PlatformStep.SCORING):
        identity = identify(assignment, found.identity.protocol_digest, attempt.account.provenance)
        scores = score(found.predictions, expected_tasks(assignment), identity, attempt.folder)
    attempt.upload(scores.results, scores.predictions)
    return _complete(attempt, summary=scores.summary)


def analyse(attempt: RunAttempt[Analyse]) -> Complete:
    """Compute an organizer's report, and upload its page, numbers and table."""
    from anyshot_worker.report import compute_report, gather_inputs  # brings torch, which no other job needs

    assignment = attempt.assignment
    name = assignment.parameters.analysis
    attempt.enter(Stage.PREPARING, f"Fetching what the report {name!r} is about")
    with attempt.step(PlatformStep.PREPARE):
        inputs = gather_inputs(assignment, attempt.files, attempt.folder)
    attempt.enter(Stage.SCORING, f"Computing the report {name!r}")
    with attempt.step(PlatformStep.ANALYSIS):
        report = compute_report(attempt, inputs)
    attempt.upload(*report.files)
    return _complete(attempt, summary=report.summary)


def _complete(attempt: RunAttempt[Any], **found: Any) -> Complete:
    """The message that completes the run, with what was found, once its log is stored as well."""
    attempt.upload(attempt.log.close())
    return Complete(epoch=attempt.assignment.epoch, **found, **attempt.account.fields())


KINDS: dict[type[Job], Callable[[RunAttempt[Any]], Complete]] = {
    Evaluate: evaluate,
    Smoke: evaluate,
    MetaTest: evaluate,
    Rescore: rescore,
    Analyse: analyse,
}

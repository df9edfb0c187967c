"""Further evaluations of a phase: adding one, taking one away, testing what lacks it."""

from pydantic import Field, field_validator
from sqlalchemy.orm import Session

from anyshot_core.evaluations import EVALUATIONS, read_evaluation, read_evaluations
from anyshot_core.protocols import ProtocolError
from anyshot_platform.actions.declaration import ActDone, ActOptions, ActRequest, Findings
from anyshot_platform.contest.phases.actions.checks import usable_pools, words_on_pool
from anyshot_platform.contest.phases.actions.leaks import problems_of_evaluations
from anyshot_platform.contest.phases.description import ONE_LEARNER_EACH
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.rows import describe_phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import count, decimal, join_texts
from anyshot_platform.judging.evaluations.points import hold_pools, points_of
from anyshot_platform.judging.evaluations.words import said_title
from anyshot_platform.judging.execution.further_tests import cancel_dropped, count_missing, queue_missing

RANKS_NOTHING = "No ranking changes, and no learner is trained again: each test costs a meta-test."


class NewEvaluation(ActOptions):
    """The evaluation in one line, as in the phase's settings."""

    evaluation: str = Field(max_length=500, description=f"one of {', '.join(EVALUATIONS)}, with its settings")

    @field_validator("evaluation")
    @classmethod
    def _is_one(cls, value: str) -> str:
        try:
            read_evaluation(value)
        except ProtocolError as error:
            raise ValueError(str(error)) from error
        return " ".join(value.split())


class KnownEvaluation(ActOptions):
    """The short name of an evaluation of the phase."""

    evaluation: str = Field(max_length=60)


def look_add(session: Session, phase: Phase, request: ActRequest[NewEvaluation]) -> Findings:
    """Refused where it cannot be made, or would test what was trained on."""
    version, before = live_version(session, phase), phase.evaluations
    line = request.options.evaluation
    evaluation = read_evaluation(line)
    if evaluation in read_evaluations(before):
        return Findings(done=f"{phase.name} has {said_title(evaluation)} already.")
    if version.each_dataset:
        return Findings(refused=[ONE_LEARNER_EACH])
    try:
        read_evaluations(f"{before}\n{line}")
        usable = dict(usable_pools(session, request.viewer, describe_phase(session, phase, "")))
        if evaluation.pool and evaluation.pool not in usable:
            return Findings(refused=[words_on_pool(evaluation.pool)])
        with session.no_autoflush:
            phase.evaluations = line
            problems = list(problems_of_evaluations(session, version))
            points = list(points_of(session, version, evaluation)) if not problems else []
            tests, without = count_missing(session, version) if not problems else (0, 0)
    except ProtocolError as error:
        return Findings(refused=[str(error)])
    finally:
        phase.evaluations = before
    if problems:
        return Findings(refused=problems)
    kept = version.keep_learner or bool(before)
    return Findings(
        does=[
            (
                f"{said_title(evaluation)}: {evaluation.says}; {count(len(points), 'test')} of "
                f"{count(points[0].tasks if points else 0, 'task')}."
            ),
            join_texts(
                (
                    (
                        ("1 test of submissions that are scored already is queued, after all other work.")
                        if tests == 1
                        else (
                            f"{decimal(tests)} tests of submissions that are scored already are queued, "
                            "after all other work."
                        )
                    ),
                    RANKS_NOTHING,
                )
            ),
        ],
        warnings=[
            (
                "1 submission has no learner any more, and stays without it."
                if without == 1
                else f"{decimal(without)} submissions have no learner any more, and stay without it."
            )
        ]
        * bool(without)
        + ["Learners are kept from now on; those of earlier submissions were not."] * (not kept),
    )


def add(session: Session, phase: Phase, request: ActRequest[NewEvaluation]) -> ActDone:
    """It is a line of the phase's settings from now on."""
    before, line = phase.evaluations, request.options.evaluation
    phase.evaluations = f"{before}\n{line}".strip()
    hold_pools(session, phase)
    tests, _ = queue_missing(session, live_version(session, phase))
    words = f"{said_title(read_evaluation(line))} is added; queued: {count(tests, 'test')}."
    was, now = {"tasks.evaluations": before}, {"tasks.evaluations": phase.evaluations}
    return ActDone(words, was, now, {"queued": tests})


def look_remove(session: Session, phase: Phase, request: ActRequest[KnownEvaluation]) -> Findings:
    """What is known of it is shown no more."""
    name = request.options.evaluation
    if name not in _lines(phase):
        known = ", ".join(_lines(phase)) or "none"
        return Findings(refused=[f"{phase.name} has no evaluation {name}; it has {known}."])
    return Findings(does=["Its tests that have not ended are cancelled, and its scores are shown no more."])


def remove(session: Session, phase: Phase, request: ActRequest[KnownEvaluation]) -> ActDone:
    """Its line is gone; its scores are kept, and shown again if the same line comes back."""
    before, lines = phase.evaluations, _lines(phase)
    name = request.options.evaluation
    if name not in lines:
        raise Invalid(f"There is no evaluation {name}.", field="evaluation")
    phase.evaluations = "\n".join(line for key, line in lines.items() if key != name)
    hold_pools(session, phase)
    cancel_dropped(session, live_version(session, phase), by=request.actor_id)
    was, now = {"tasks.evaluations": before}, {"tasks.evaluations": phase.evaluations}
    return ActDone(f"{name} is gone.", was, now)


def look_evaluate(session: Session, phase: Phase, request: ActRequest) -> Findings:
    """What lacks a test, failed ones included."""
    if not phase.evaluations:
        return Findings(refused=[f"{phase.name} has no further evaluations: add one first."])
    tests, without = count_missing(session, live_version(session, phase), failed_too=True)
    if not tests and not without:
        return Findings(done="Every submission is tested, or on its way.")
    return Findings(
        does=[
            join_texts(
                (
                    (
                        "1 test is queued, after all other work."
                        if tests == 1
                        else f"{decimal(tests)} tests are queued, after all other work."
                    ),
                    RANKS_NOTHING,
                )
            )
        ],
        warnings=[
            (
                "1 submission has no learner any more: run it again first."
                if without == 1
                else f"{decimal(without)} submissions have no learner any more: run them again first."
            )
        ]
        * bool(without),
    )


def evaluate(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    """Tests that failed are tried again."""
    tests, _ = queue_missing(session, live_version(session, phase), failed_too=True)
    return ActDone(
        ("1 test is queued." if tests == 1 else f"{decimal(tests)} tests are queued."),
        after={"queued": tests},
        result={"queued": tests},
    )


def _lines(phase: Phase) -> dict[str, str]:
    return {read_evaluation(line).short_name: line for line in phase.evaluations.splitlines()}

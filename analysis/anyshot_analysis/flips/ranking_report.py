"""Organizer's report after a phase: how far the order of the board can be trusted, by population."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from anyshot_analysis.flips.common_tasks import keep_submissions
from anyshot_analysis.jobs.inputs import OF_THE_MODEL, SAME_TASKS, BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import ReportPage
from anyshot_analysis.undefined import Undefined
from anyshot_core.report import reliability_section
from anyshot_core.report.estimates import Estimate, undefined
from anyshot_core.wire.reports import Flips
from anyshot_core.words import count_of
from anyshot_scoring.reliability import POPULATIONS, Assessment, Interval, align, assess
from anyshot_scoring.reliability.assessment import PopulationReport
from anyshot_scoring.reliability.over_datasets import MARGIN


class Parameters(Flips):
    """`rule` ranks the board; `margin` is the difference in score that does not matter.

    `feedback` holds scores of the feedback phase by submission; `submissions` how many its team had scored there, or
    here where there is no feedback phase; `names` what to show.
    """

    margin: Annotated[float, Field(description="Difference that is too small to matter, in accuracy.")] = (
        MARGIN
    )

    def model_post_init(self, context: object, /) -> None:
        if self.replicates < 1000:
            raise BadAnalysis("at least 1,000 replicates: fewer carry points of noise")
        if self.margin <= 0:
            raise BadAnalysis("the margin is a positive difference in score, such as 0.01")


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Assess the board, its order by ways and shots with it."""
    if len(inputs.results) < 2:
        raise BadAnalysis("the order of a board needs the results of two submissions")
    progress("Comparing submissions", 0, 3)
    common = keep_submissions(inputs, parameters.names)
    inputs = common.inputs
    matrix = align(inputs.results)
    classes = inputs.align_classes(matrix)
    progress("Comparing submissions", 1, 3)
    assessment = assess(
        matrix,
        classes=classes,
        feedback=parameters.feedback or None,
        submissions=parameters.submissions or None,
        rule=parameters.rule,
        margin=parameters.margin,
        replicates=parameters.replicates,
        seed=parameters.seed,
        shared_tasks=inputs.shares_tasks,
    )
    progress("Comparing submissions", 3, 3)
    best = assessment.keys[0]
    return ReportPage(
        name="flips",
        title="Reliability of the ranking",
        finding=f"{parameters.names.get(best, best)} leads a board of {count_of(len(assessment.keys), 'submission')}"
        f"{common.said}; "
        "below, by population, how sure that is.",
        population=f"each on its own: {', '.join(str(p) for p in POPULATIONS)}; the unit is named beside it.",
        estimates=estimates_of(assessment, parameters.names),
        extra=reliability_section(assessment, parameters.names),
        notes=[*common.notes, *([SAME_TASKS] if inputs.shares_tasks else [])],
        result=assessment.to_dict() | common.result,
        table={
            "task": np.tile(matrix.task, len(matrix.keys)),
            "run": np.tile(matrix.run, len(matrix.keys)),
            "submission": np.repeat(matrix.keys, len(matrix.task)),
            "score": np.concatenate([matrix.column(key) for key in matrix.keys]),
        },
    )


def estimates_of(assessment: Assessment, names: Mapping[str, str]) -> list[Estimate]:
    """Leads of neighbours and the probability to be truly best, by population."""
    found: list[Estimate] = []
    picked = f"in the order of a board of {len(assessment.keys)}"
    for population, report in assessment.populations.items():
        if not isinstance(report, PopulationReport):
            found.append(
                undefined(f"leads over {population}", report.reason, assessment.unit, str(population))
            )
            continue
        for pair in report.neighbours:
            lead = f"{names.get(pair.first, pair.first)} before {names.get(pair.second, pair.second)}, {population}"
            found.append(
                Estimate(lead, pair.lead, ends(pair.interval), assessment.unit, report.words, picked)
            )
        best, model = names.get(assessment.keys[0], assessment.keys[0]), report.model
        first = model if isinstance(model, Undefined) else float(model.first[0])
        found.append(
            Estimate(
                f"{best} is truly best, {population}",
                first,
                OF_THE_MODEL,
                "probability",
                report.words,
                picked,
            )
        )
    return found + spreads_of(assessment) + agreement_of(assessment)


def spreads_of(assessment: Assessment) -> list[Estimate]:
    """What each source of variation does to a submission's score, by the one model of the board."""
    if isinstance(assessment.spreads, Undefined):
        return []
    return [
        Estimate(
            f"standard deviation of what {row.words} does",
            row.deviation,
            ends(row.interval),
            "score",
            "differences between the submissions of this board",
        )
        for row in assessment.spreads
    ]


def agreement_of(assessment: Assessment) -> list[Estimate]:
    """How far runs agree with one another, and the board with that of the feedback phase; what trusting that costs."""
    tau, others = "Kendall's tau-b", "other submissions"
    runs, known = assessment.seeds_tau, assessment.seeds_interval
    found = [Estimate("agreement of seeded runs", runs, ends(known), tau, others)]
    feedback = assessment.feedback
    if isinstance(feedback, Undefined):
        return found
    return [
        *found,
        Estimate("agreement with the feedback phase", feedback.tau, ends(feedback.interval), tau, others),
        Estimate(
            "cost of trusting the feedback phase",
            feedback.cost,
            ends(feedback.cost_interval),
            assessment.unit,
            POPULATIONS[feedback.cost_over],
        ),
    ]


def ends(interval: Interval | Undefined) -> tuple[float, float] | Undefined:
    """Both ends of an interval."""
    return interval if isinstance(interval, Undefined) else (interval.low, interval.high)

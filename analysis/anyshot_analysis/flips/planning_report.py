"""Organizer's report: how many datasets, classes and tasks until a lead of x points flips in under 5 per cent."""

import math
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from anyshot_analysis.flips.common_tasks import CommonTasks, keep_submissions
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import PageTable, ReportPage
from anyshot_analysis.undefined import Undefined
from anyshot_core.charts import draw_curves
from anyshot_core.report.estimates import Estimate
from anyshot_core.wire.reports import Plan
from anyshot_core.words import count_of
from anyshot_scoring.reliability import (
    Components,
    SampleSizePlan,
    align,
    estimate_components,
    fit_crossed,
    plan_top,
)
from anyshot_scoring.reliability.components import component_intervals, each_task_once
from anyshot_scoring.rules import find_rule
from anyshot_scoring.summary import Group

LEADS = (0.005, 0.01, 0.02, 0.05)


class Parameters(Plan):
    """Standard deviations of the difference of two submissions are estimated from `results`, where there are any.

    Else they are assumptions: between datasets, between classes of a dataset, between tasks, in normalized accuracy.
    `rule` ranks the board, whose first two are taken; `names` to show by submission.
    """

    sd_datasets: Annotated[
        float,
        Field(
            description="Assumed standard deviation of the difference between datasets, where no results are given."
        ),
    ] = 0.03
    sd_classes: Annotated[
        float,
        Field(
            description="Assumed standard deviation of the difference between classes, where no results are given."
        ),
    ] = 0.05
    sd_tasks: Annotated[
        float,
        Field(
            description="Assumed standard deviation of the difference between tasks, where no results are given."
        ),
    ] = 0.10
    datasets: Annotated[int, Field(description="Datasets of the phase, where no results are given.")] = 10
    classes: Annotated[int, Field(description="Classes of a dataset, where no results are given.")] = 20
    tasks: Annotated[int, Field(description="Tasks of a dataset, where no results are given.")] = 600

    def model_post_init(self, context: object, /) -> None:
        if not 0 < self.flip < 0.5 or self.lead <= 0:
            raise BadAnalysis("the lead is positive and the flip probability lies between 0 and 0.5")


def components_of(inputs: Inputs, parameters: Parameters) -> tuple[Components, str]:
    """Where differences vary, and where that is known from; of `inputs` that all met the same tasks."""
    if not inputs.files.get("results"):
        components = Components(
            parameters.lead,
            parameters.sd_datasets**2,
            parameters.sd_classes**2,
            parameters.sd_tasks**2,
            parameters.datasets,
            float(parameters.classes),
            float(parameters.tasks),
        )
        return components, "assumed standard deviations"
    matrix = align(inputs.results)
    rule = find_rule(parameters.rule)
    points = rule.points(matrix.run_means(), matrix.run_dataset_means())
    first, second = (matrix.keys[i] for i in np.argsort(-points, kind="stable")[:2])
    by_class = inputs.align_classes(matrix)
    counted, classes = each_task_once(matrix, by_class, rule, shared_tasks=inputs.shares_tasks)
    found = estimate_components(fit_crossed(counted, classes), counted, first, second, classes)
    if isinstance(found, Undefined):
        raise BadAnalysis(f"the results do not tell where differences vary: {found.reason}")
    if found.variance() == 0:
        raise BadAnalysis(
            "the results do not tell where differences vary: all tasks have the same difference"
        )
    shown = [parameters.names.get(key, key) for key in (first, second)]
    known = count_of(len(matrix.keys), "submission")
    words = (
        f"the difference of {shown[0]} and {shown[1]}, first and second of the board, by the model of {known}"
    )
    return replace(found, lead=parameters.lead), words


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Plan for the asked lead, and for a few others beside it."""
    measured = bool(inputs.files.get("results"))
    common = _common_of(inputs, parameters) if measured else CommonTasks(inputs, {}, [])
    inputs = common.inputs
    components, source = components_of(inputs, parameters)
    plan = plan_top([components], parameters.flip, known_leads=True)
    others = {
        lead: plan_top([replace(components, lead=lead)], parameters.flip, known_leads=True) for lead in LEADS
    }
    grid = np.unique(np.geomspace(1, 100, 18).astype(int)).tolist()
    curves = {
        f"lead {count_of(100 * lead, 'point')}": [
            Group(d, replace(components, lead=lead).flip(datasets=d), None, d) for d in grid
        ]
        for lead in LEADS
    }
    chart = draw_curves(
        curves, "Probability that the order flips", "datasets", "Flip probability", intervals=False
    )
    rows = [row(100 * lead, other, replace(components, lead=lead)) for lead, other in others.items()]
    return ReportPage(
        name="plan",
        title="How large a phase must be",
        finding=finding_of(plan, parameters, measured),
        population="other datasets, other classes of these datasets, other tasks, as the columns say.",
        estimates=[
            *estimates_of(plan, f"a lead of {count_of(100 * parameters.lead, 'point')}", source, measured),
            *components_as_estimates(components),
        ],
        charts=[chart],
        listings=[
            PageTable(
                "What settles a lead",
                (
                    "lead (points)",
                    "flips now (probability)",
                    "tasks a dataset",
                    "classes a dataset",
                    "datasets",
                ),
                rows,
            )
        ],
        notes=[
            f"Variances: {source}.{_whose(inputs) + UNUSED if measured else ''}",
            "Flips now: how probably another draw of as many datasets, classes and tasks turns a true lead of this "
            f"size round. Now: {count_of(components.datasets, 'dataset')}, each with {_now(components, inputs)}.",
            "Tasks and classes: for the datasets at hand. Datasets: new ones, with as many classes and tasks.",
            *common.notes,
        ],
        result={
            "source": source,
            "lead": parameters.lead,
            "flip": parameters.flip,
            "now": plan.now,
            "tasks": plan.tasks,
            "classes": plan.classes,
            "datasets": plan.datasets,
            "variances": {"dataset": components.dataset, "class": components.klass, "task": components.task},
            **common.result,
        },
        table={
            "datasets": np.array([d for _ in LEADS for d in grid]),
            "lead": np.array([lead for lead in LEADS for _ in grid]),
            "flip": np.array([g.mean for groups in curves.values() for g in groups]),
        },
    )


def _common_of(inputs: Inputs, parameters: Parameters) -> CommonTasks:
    if len(inputs.results) < 2:
        raise BadAnalysis("planning from results needs those of two submissions")
    return keep_submissions(inputs, parameters.names)


UNUSED = (
    " The parameters sd_datasets, sd_classes, sd_tasks, datasets, classes and tasks are assumptions for a phase "
    "without results: nothing here comes from them."
)


def _whose(inputs: Inputs) -> str:
    """Which runs the variances are of."""
    if inputs.shares_tasks:
        return " Of the runs that count, each task once."
    return " Of the mean of the runs, whatever the board ranks by."


def _now(components: Components, inputs: Inputs) -> str:
    """Classes and tasks of a dataset, where they are known."""
    all_runs = inputs.files.get("results") and not inputs.shares_tasks
    tasks = f"{components.tasks:,.0f} tasks{' over all runs' if all_runs else ''}"
    return f"{components.classes:,.0f} classes and {tasks}" if components.klass else tasks


def row(lead: float, plan: SampleSizePlan, components: Components) -> list[str | int | float | Undefined]:
    """One line, the lead in points."""
    return [lead, components.flip(), plan.tasks, plan.classes, plan.datasets]


def estimates_of(plan: SampleSizePlan, lead: str, source: str, measured: bool) -> list[Estimate]:
    """What would settle the lead, unit by unit; only the need of datasets has an interval, and only from results."""
    assumed = Undefined("assumed, not estimated")
    now = Undefined("follows from the spreads below, each of which has its interval") if measured else assumed
    datasets, classes, tasks = (
        found if measured else assumed
        for found in (plan.datasets_interval, plan.classes_interval, plan.tasks_interval)
    )
    return [
        Estimate(
            f"flips of {lead} now",
            plan.now,
            now,
            "probability",
            "another draw of datasets, classes and tasks",
        ),
        Estimate(
            "datasets needed", plan.datasets, datasets, "datasets", f"other datasets; variances: {source}"
        ),
        Estimate(
            "classes needed", plan.classes, classes, "classes a dataset", "other classes of these datasets"
        ),
        Estimate("tasks needed", plan.tasks, tasks, "tasks a dataset", "other tasks of these datasets"),
    ]


def components_as_estimates(components: Components) -> list[Estimate]:
    """By how much the difference varies from dataset to dataset, class to class, task to task, in points."""
    found = component_intervals(components)
    return [
        Estimate(
            f"spread between {plural}",
            in_points(getattr(components, unit)),
            interval if isinstance(interval, Undefined) else (in_points(interval[0]), in_points(interval[1])),
            "points",
            over,
        )
        for (unit, interval), (plural, over) in zip(found.items(), SPREADS, strict=True)
    ]


def in_points(variance: float) -> float:
    """Its standard deviation."""
    return 100 * math.sqrt(variance)


SPREADS = (
    ("datasets", "other datasets"),
    ("classes", "other classes of these datasets"),
    ("tasks", "other tasks of these datasets"),
)


def finding_of(plan: SampleSizePlan, parameters: Parameters, measured: bool) -> str:
    """The answer in a sentence, with its range where the variances were estimated from results."""
    lead = f"A true lead of {count_of(100 * parameters.lead, 'point')}"
    if isinstance(plan.datasets, Undefined):
        return f"{lead} cannot be settled: {plan.datasets.reason}."
    known = _range_of(plan) if measured else ", if variances are as assumed"
    datasets = f"{plan.datasets:,} {'dataset' if plan.datasets == 1 else 'datasets'}"
    return f"{lead} flips in under {100 * parameters.flip:g} % of draws from {datasets} on{known}."


def _range_of(plan: SampleSizePlan) -> str:
    interval = plan.datasets_interval
    return "" if isinstance(interval, Undefined) else f" (95 % interval {interval[0]:,} to {interval[1]:,})"

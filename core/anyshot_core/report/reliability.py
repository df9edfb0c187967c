"""The organizers' reliability report as a page or a section of one; as JSON it is `Assessment.to_dict()`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from anyshot_core.chances import chance_words
from anyshot_core.charts import (
    Chart,
    RankBar,
    draw_critical_difference,
    draw_curves,
    draw_heat_map,
    draw_rank_intervals,
)
from anyshot_core.report.pages import figure, templates, wrap_page
from anyshot_scoring.reliability.assessment import Assessment, PopulationReport
from anyshot_scoring.reliability.over_datasets import OverDatasets
from anyshot_scoring.reliability.resampling import POPULATIONS, Population
from anyshot_scoring.reliability.strata import Strata
from anyshot_scoring.summary import Group
from anyshot_scoring.undefined import Undefined

_MATRIX_ROWS = 12  # more than these cannot be read as a matrix
_CURVES = 8  # more than these cannot be told apart


@dataclass(frozen=True)
class PopulationView:
    """One population with its charts and its groups by name."""

    report: PopulationReport
    ranks: Chart | None
    order: Chart | None
    groups: tuple[tuple[str, ...], ...]
    redrawn_groups: tuple[tuple[str, ...], ...]


def reliability_section(assessment: Assessment, names: Mapping[str, str] | None = None) -> Markup:
    """The report as sections for a page, headings from level 2; `names` gives the submissions' names by key."""
    own = names or {}
    labels = [own.get(key, key) for key in assessment.keys]
    return Markup(
        templates()
        .get_template("reliability.html")
        .render(
            a=assessment,
            name=lambda key: own.get(key, key),
            labels=labels,
            views=[
                _view(report, labels)
                for report in assessment.populations.values()
                if isinstance(report, PopulationReport)
            ],
            missing=[
                (population, report.reason)
                for population, report in assessment.populations.items()
                if isinstance(report, Undefined)
            ],
            strata_views=[
                (strata, draw_strata(strata, labels)) for strata in (assessment.ways, assessment.shots)
            ],
            headline=_headline(assessment, labels),
            critical=_critical(assessment.over_datasets, labels),
            figure=figure,
            words=figure_words,
            share=share_words,
            chance=chance_words,
            populations=POPULATIONS,
        )
    )


def reliability_html(
    assessment: Assessment, names: Mapping[str, str] | None = None, title: str = "Reliability of the ranking"
) -> str:
    """The report as one file without links to anything outside it."""
    return wrap_page(title, reliability_section(assessment, names))


def _critical(found: OverDatasets | Undefined, labels: list[str]) -> Chart | None:
    """The critical-difference diagram, where there are datasets enough for one."""
    if isinstance(found, Undefined) or isinstance(found.ranks, Undefined):
        return None
    ranks = found.ranks
    return draw_critical_difference(
        labels, ranks.ranks.tolist(), ranks.groups, ranks.difference, "Average ranks over datasets"
    )


def figure_words(value: float | Undefined, pattern: str = "{:z.3f}") -> str:
    """A figure, or why it is undefined."""
    return f"undefined: {value.reason}" if isinstance(value, Undefined) else pattern.format(value)


def share_words(share: float) -> str:
    """A share in per cent; what rounds to none or to all is neither."""
    return "under 1 %" if share < 0.005 else "over 99 %" if share > 0.995 else f"{100 * share:.0f} %"


def _view(report: PopulationReport, labels: list[str]) -> PopulationView:
    known = None if isinstance(report.ranks, Undefined) else report.ranks
    return PopulationView(
        report=report,
        ranks=_rank_chart(report, labels),
        order=_order_chart(report, labels[:_MATRIX_ROWS]),
        groups=_named(known.groups, labels) if known else (),
        redrawn_groups=_named(report.redrawn.groups, labels),
    )


def _named(groups: Sequence[Sequence[int]], labels: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(labels[i] for i in group) for group in groups)


def _rank_chart(report: PopulationReport, labels: Sequence[str]) -> Chart | None:
    ranks, model = report.ranks, report.model
    if isinstance(ranks, Undefined) or isinstance(model, Undefined):
        return None
    rows = [
        RankBar(label, i + 1, float(ranks.low[i]), float(ranks.high[i]), float(model.first[i]))
        for i, label in enumerate(labels)
    ]
    return draw_rank_intervals(rows, f"Intervals of the true rank, over {report.words}", report.words)


def _order_chart(report: PopulationReport, labels: list[str]) -> Chart | None:
    if isinstance(report.model, Undefined):
        return None
    matrix = report.model.better[: len(labels), : len(labels)].copy()
    np.fill_diagonal(matrix, np.nan)
    words = (
        "probability that the row is truly better than the column (0.00 is under 0.005, and 1.00 over 0.995)"
    )
    return draw_heat_map(
        matrix, labels, f"{words.capitalize()}, over {report.words}", words, low=0.0, high=1.0
    )


def draw_strata(strata: Strata, labels: list[str]) -> Chart:
    """Curves of the first submissions of the board over ways or shots, with 95 % intervals over tasks."""
    series = {
        label: [Group(s.value, float(s.scores[i]), s.half_widths[i], s.tasks) for s in strata.strata]
        for i, label in enumerate(labels[:_CURVES])
    }
    return draw_curves(series, f"Order by {strata.axis}", strata.axis)


def _headline(assessment: Assessment, labels: list[str]) -> str:
    """One sentence on the winner, over the broadest population that can be judged."""
    for population in (Population.DATASETS, Population.CLASSES, Population.TASKS):
        report = assessment.populations[population]
        if isinstance(report, PopulationReport) and not isinstance(report.ranks, Undefined):
            low, high = int(report.ranks.low[0]), int(report.ranks.high[0])
            place = "1: first place is settled" if high == 1 else f"{low} to {high}"
            beside = _beside(report, assessment.keys, labels)
            said = f"Over {report.words}, the 95 % interval of the true rank of {labels[0]} is {place}."
            return f"{said} {_best(report)}{beside}"
    tasks = assessment.populations[Population.TASKS]
    why = tasks.ranks if isinstance(tasks, PopulationReport) else tasks
    return f"Nothing can be said about another draw: {why.reason}." if isinstance(why, Undefined) else ""


def _beside(report: PopulationReport, keys: Sequence[str], labels: Sequence[str]) -> str:
    """What the first probability is without a submission that sets the spread of all, where that is not the leader."""
    if report.without is None or report.without.key == keys[0]:
        return ""
    far = labels[keys.index(report.without.key)]
    first = chance_words(report.without.model.first[0])
    return f" (Among the submissions without {far}, which is far from the others: {first}.)"


def _best(report: PopulationReport) -> str:
    """How likely the leader is truly the best, and leads again."""
    if isinstance(report.model, Undefined):
        return f"How probable that is cannot be known: {report.model.reason}."
    return (
        f"It is truly the best with probability {chance_words(report.model.first[0])}, and would lead another "
        f"phase of this size with probability {chance_words(report.model.first_again)}."
    )

"""Further evaluations as sections of a page: a table each, and a curve where the points make one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from anyshot_core.browser_charts.numbers import side_by_side
from anyshot_core.evaluations import PointScore, PointSeries, point_words, split_points
from anyshot_core.evaluations.curves import Curves, find_curves
from anyshot_core.metric_titles import METRIC_TITLES
from anyshot_core.report.pages import templates

SCORE = METRIC_TITLES["normalized_accuracy"]

# Short name and title of the table that evaluations of one point share.
TOGETHER = "together", "Further evaluations"


@dataclass(frozen=True)
class EvaluationPart:
    """One evaluation of one or more learners side by side; `rows` are its points, a cell for each of `names`."""

    name: str
    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[PointScore | None, ...]], ...]
    curves: Curves | None = None

    def chart(self, score: str = SCORE) -> dict[str, Any]:
        """The curves as the numbers of a chart, with `score` as the words at its side."""
        assert self.curves is not None, "an evaluation without curves has no chart"
        return side_by_side(self.curves.groups, self.curves.axis, score)


def evaluations_section(series: PointSeries, *, level: int = 2) -> Markup:
    """All evaluations of the named learners; nothing where there are none. Headings are of that level."""
    parts = evaluation_parts(series)
    page = templates()
    page.filters["point"] = point_words
    return Markup(page.get_template("evaluations.html").render(evaluations=parts, score=SCORE, level=level))


def evaluation_parts(series: PointSeries) -> list[EvaluationPart]:
    """The evaluations of the named learners, each with its table and its curve; those of one point share a table."""
    alone, others = split_points(series)
    names = _names(alone)
    shared = [_shared(alone)] if len(names) > 1 else [_part(name, alone) for name in names]
    return [*shared, *(_part(name, others) for name in _names(others))]


def _names(series: PointSeries) -> list[str]:
    return list(dict.fromkeys(score.evaluation for scores in series.values() for score in scores))


def _shared(series: PointSeries) -> EvaluationPart:
    return _table(*TOGETHER, series, lambda score: (score.evaluation, score.words))


def _part(evaluation: str, series: PointSeries) -> EvaluationPart:
    own = {
        name: [score for score in scores if score.evaluation == evaluation] for name, scores in series.items()
    }
    own = {name: scores for name, scores in own.items() if scores}
    title = next(iter(own.values()))[0].title
    part = _table(evaluation, title, own, lambda score: (score.point, score.label))
    return replace(part, curves=find_curves(own))


def _table(
    name: str, title: str, series: PointSeries, row: Callable[[PointScore], tuple[str, str]]
) -> EvaluationPart:
    """`row` gives what a score's row is known by, and its label."""
    labels = dict(row(score) for scores in series.values() for score in scores)
    cells = [{row(score)[0]: score for score in scores} for scores in series.values()]
    return EvaluationPart(
        name=name,
        title=title,
        names=tuple(series) if len(series) > 1 else ("Score",),
        rows=tuple((label, tuple(found.get(key) for found in cells)) for key, label in labels.items()),
    )

"""Further evaluations as sections of a page: a table each, and a curve where the points make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from anyshot_core.browser_charts.numbers import side_by_side
from anyshot_core.evaluations import PointScore, point_words
from anyshot_core.evaluations.curves import Curves, find_curves
from anyshot_core.report.content import METRIC_TITLES
from anyshot_core.report.pages import templates

SCORE = METRIC_TITLES["normalized_accuracy"]


@dataclass(frozen=True)
class EvaluationPart:
    """One evaluation of one or more learners side by side; `rows` are its points, a cell for each of `names`."""

    name: str
    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[PointScore | None, ...]], ...]
    curves: Curves | None

    def chart(self, score: str = SCORE) -> dict[str, Any]:
        """The curves as the numbers of a chart, with `score` as the words at its side."""
        assert self.curves is not None, "an evaluation without curves has no chart"
        return side_by_side(self.curves.groups, self.curves.axis, score)


def evaluations_section(series: Mapping[str, Sequence[PointScore]], *, level: int = 2) -> Markup:
    """All evaluations of the named learners; nothing where there are none. Headings are of that level."""
    parts = evaluation_parts(series)
    page = templates()
    page.filters["point"] = point_words
    return Markup(page.get_template("evaluations.html").render(evaluations=parts, score=SCORE, level=level))


def evaluation_parts(series: Mapping[str, Sequence[PointScore]]) -> list[EvaluationPart]:
    """The evaluations of the named learners, each with its table and its curve."""
    return [_part(name, series) for name in _names(series)]


def _names(series: Mapping[str, Sequence[PointScore]]) -> list[str]:
    return list(dict.fromkeys(score.evaluation for scores in series.values() for score in scores))


def _part(evaluation: str, series: Mapping[str, Sequence[PointScore]]) -> EvaluationPart:
    own = {
        name: [score for score in scores if score.evaluation == evaluation] for name, scores in series.items()
    }
    own = {name: scores for name, scores in own.items() if scores}
    cells = {name: {score.point: score for score in scores} for name, scores in own.items()}
    labels = {score.point: score.label for scores in own.values() for score in scores}
    return EvaluationPart(
        name=evaluation,
        title=next(iter(own.values()))[0].title,
        names=tuple(own) if len(own) > 1 else ("Score",),
        rows=tuple(
            (label, tuple(found.get(point) for found in cells.values())) for point, label in labels.items()
        ),
        curves=find_curves(own),
    )

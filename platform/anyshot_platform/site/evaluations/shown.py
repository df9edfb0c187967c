"""Further evaluations as one viewer sees them: of a submission, and of the rows of a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from anyshot_core.evaluations import (
    EachDomain,
    FurtherEvaluation,
    PointScore,
    PointSeries,
    point_words,
    split_points,
)
from anyshot_core.report.evaluations import EvaluationPart, evaluation_parts
from anyshot_platform.evaluations.points import list_evaluations
from anyshot_platform.evaluations.reading import read_scores
from anyshot_platform.kernel.language import say
from anyshot_platform.kernel.numbers import HalfWidth
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.sight.names import name_datasets
from anyshot_platform.sight.phases import PhaseSight
from anyshot_platform.sight.submissions import Sight
from anyshot_platform.site.shell.chart_data import SCORE, ChartView

SIDE_BY_SIDE = 8  # learners in one table and chart


class PointOut(BaseModel):
    """The score of a submission at one point of a further evaluation."""

    evaluation: str = Field(description="its short name")
    title: str
    axis: str = Field(description="what `at` is, where the points make a curve")
    point: str
    label: str
    at: float | None
    mean: float | None = Field(description="normalized accuracy; null where `message` says why there is none")
    half_width: HalfWidth
    tasks: int
    message: str

    @classmethod
    def of(cls, score: PointScore) -> PointOut:
        """The point as JSON, with every field of the score."""
        return cls.model_validate(score.to_dict())


@dataclass(frozen=True)
class EvaluationCard:
    """One evaluation: its table, and a chart with that table where there is a curve."""

    name: str
    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    chart: ChartView | None


def of_submission(session: Session, sight: Sight, version: PhaseVersion | None) -> list[PointScore]:
    """The points of a submission that the viewer may see; none where they see none."""
    if version is None or not sight.evaluations:
        return []
    found = read_scores(session, version, [sight.submission.id])
    return _masked(session, sight.phase, version, found).get(sight.submission.id, [])


def of_board(
    session: Session, sight: PhaseSight, version: PhaseVersion, submissions: Sequence[str]
) -> dict[str, list[PointScore]]:
    """By submission, the points of rows of a board that the viewer may see."""
    if not sight.board_evaluations:
        return {}
    found = read_scores(session, version, submissions, sight.evaluations_until)
    return _masked(session, sight, version, found)


def cards(series: PointSeries) -> tuple[EvaluationCard, ...]:
    """The evaluations of the first named learners side by side."""
    first = list(series.items())[:SIDE_BY_SIDE]
    return _cards(tuple((name, tuple(scores)) for name, scores in first))


def single_points(series: PointSeries) -> dict[str, dict[str, str]]:
    """By title, the evaluations that have one point, as text by learner: they fit into columns of a board."""
    found: dict[str, dict[str, str]] = {}
    for name, scores in split_points(series)[0].items():
        for score in scores:
            found.setdefault(score.words, {})[name] = point_words(score)
    return found


def curve_cards(series: PointSeries) -> tuple[EvaluationCard, ...]:
    """The cards of the evaluations that have several points, for below a board."""
    return cards(split_points(series)[1])


@lru_cache(maxsize=64)
def _cards(series: tuple[tuple[str, tuple[PointScore, ...]], ...]) -> tuple[EvaluationCard, ...]:
    return tuple(_card(part) for part in evaluation_parts(dict(series)))


def _card(part: EvaluationPart) -> EvaluationCard:
    rows = tuple((label, tuple(point_words(cell) for cell in cells)) for label, cells in part.rows)
    return EvaluationCard(part.name, part.title, part.names, rows, _chart(part, rows))


def _chart(part: EvaluationPart, rows: tuple[tuple[str, tuple[str, ...]], ...]) -> ChartView | None:
    if part.curves is None:
        return None
    cells = tuple((label, *(cell or "–" for cell in found)) for label, found in rows)
    return ChartView(part.title, part.chart(SCORE), (say("Tested on"), *part.names), cells)


def _masked(
    session: Session,
    sight: PhaseSight,
    version: PhaseVersion,
    found: dict[str, list[PointScore]],
) -> dict[str, list[PointScore]]:
    """Without the names of hidden domains and pools, where the viewer may not know those of datasets."""
    if not name_datasets(session, sight, version).hidden:
        return found
    known = {one.short_name: one for one in list_evaluations(version)}
    return {
        submission: [
            _hidden(score, place, known[name])
            for name, own in groupby(scores, lambda score: score.evaluation)
            for place, score in enumerate(own, 1)
        ]
        for submission, scores in found.items()
    }


def _hidden(score: PointScore, place: int, evaluation: FurtherEvaluation) -> PointScore:
    """Of a point without a label of its own the title is the label."""
    title = f"{evaluation.title} ({evaluation.key})" if evaluation.key else evaluation.title
    if evaluation.name == EachDomain.name:
        return replace(score, title=title, point=f"domain-{place}", label=f"Domain {place}")
    return replace(score, title=title, label=title if score.label == score.title else score.label)

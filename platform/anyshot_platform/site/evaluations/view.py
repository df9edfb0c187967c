"""Further evaluations as one viewer sees them: of a submission, and of the rows of a board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from anyshot_core.evaluations import PointScore, PointSeries, point_words, split_points
from anyshot_core.report.evaluations import TOGETHER, EvaluationPart, evaluation_parts
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.numbers import HalfWidth
from anyshot_platform.judging.evaluations.points import list_evaluations
from anyshot_platform.judging.evaluations.reading import read_failed, read_runs, read_scores
from anyshot_platform.judging.evaluations.words import said_points, said_words
from anyshot_platform.judging.visibility.faults import EvaluationFault
from anyshot_platform.judging.visibility.names import name_datasets
from anyshot_platform.judging.visibility.phases import PhaseSight
from anyshot_platform.judging.visibility.submissions import Sight
from anyshot_platform.site.shell.chart_data import SCORE, ChartView

SIDE_BY_SIDE = 8  # learners in one table and chart


class EvaluationFailure(BaseModel):
    """Why a further evaluation failed at a point, with the words of a run that failed."""

    seed_index: int
    verdict: Verdict
    cause: Cause | None
    message: str
    detail: str
    task_index: int | None
    task_ways: int | None
    task_shots: int | None

    @classmethod
    def of(cls, seed: int, fault: EvaluationFault) -> EvaluationFailure:
        """What a viewer is told, as JSON."""
        return cls(seed_index=seed, cause=fault.verdict.cause, **asdict(fault))


class SeededScoreOut(BaseModel):
    """What the learner of one seeded run scores at a point, over all of its tasks."""

    seed_index: int
    mean: float
    half_width: HalfWidth
    tasks: int


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
    failures: list[EvaluationFailure] = Field(
        default=[], description="one a seeded run that failed; of a submission, never of the rows of a board"
    )
    runs: list[SeededScoreOut] = Field(
        default=[],
        description="one a seeded run, which the ranking rule joins above; of a submission, never of a board's rows",
    )
    same_test_tasks: bool = Field(default=False, description="whether its seeded runs met the same tasks")

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


def faults_of_submission(
    session: Session, sight: Sight, version: PhaseVersion | None, scores: Sequence[PointScore]
) -> Iterator[tuple[PointScore, int, EvaluationFault]]:
    """Why tests failed of the points that `of_submission` showed: of each its point and the place of its seed."""
    failed = read_failed(session, version, sight.submission.id) if version is not None and scores else []
    for score, tests in zip(scores, failed, strict=True):
        for test in tests:
            if (fault := sight.fault_of_test(test.run, test.failure)) is not None:
                yield score, test.seed_index, fault


def points_out(session: Session, sight: Sight, version: PhaseVersion | None) -> list[PointOut]:
    """The points of a submission as JSON, with those of each of its seeded runs, and why some failed."""
    scores = of_submission(session, sight, version)
    if version is None or not scores:
        return []
    runs = read_runs(session, version, [sight.submission.id])[sight.submission.id]
    why: dict[tuple[str, str], list[EvaluationFailure]] = {}
    for score, seed, fault in faults_of_submission(session, sight, version, scores):
        why.setdefault((score.evaluation, score.point), []).append(EvaluationFailure.of(seed, fault))
    return [
        PointOut.of(score).model_copy(
            update={
                "failures": why.get((score.evaluation, score.point), []),
                "runs": [SeededScoreOut.model_validate(asdict(run)) for run in own],
                "same_test_tasks": version.same_test_tasks,
            }
        )
        for score, own in zip(scores, runs, strict=True)
    ]


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
            found.setdefault(said_words(score), {})[name] = point_words(score)
    return found


def curve_cards(series: PointSeries) -> tuple[EvaluationCard, ...]:
    """The cards of the evaluations that have several points, for below a board."""
    return cards(split_points(series)[1])


@lru_cache(maxsize=64)
def _cards(series: tuple[tuple[str, tuple[PointScore, ...]], ...]) -> tuple[EvaluationCard, ...]:
    return tuple(_card(part) for part in evaluation_parts(dict(series)))


def _card(part: EvaluationPart) -> EvaluationCard:
    shared = part.name == TOGETHER[0]
    rows = tuple(_row(label, cells, shared) for label, cells in part.rows)
    names = part.names if len(part.names) > 1 else ("Score",)
    title = "Further evaluations" if shared else part.title
    return EvaluationCard(part.name, title, names, rows, _chart(part, names, rows))


def _row(label: str, cells: Sequence[PointScore | None], shared: bool) -> tuple[str, tuple[str, ...]]:
    first = next((cell for cell in cells if cell is not None), None) if shared else None
    return said_words(first) if first else label, tuple(point_words(cell) for cell in cells)


def _chart(
    part: EvaluationPart, names: Sequence[str], rows: tuple[tuple[str, tuple[str, ...]], ...]
) -> ChartView | None:
    if part.curves is None:
        return None
    cells = tuple((label, *(cell or "–" for cell in found)) for label, found in rows)
    return ChartView(part.title, part.chart(SCORE), ("Tested on", *names), cells)


def _masked(
    session: Session,
    sight: PhaseSight,
    version: PhaseVersion,
    found: dict[str, list[PointScore]],
) -> dict[str, list[PointScore]]:
    """In the words of pages, without the names of hidden domains and pools where one may not know those of datasets."""
    hidden = name_datasets(session, sight, version).hidden
    evaluations = list_evaluations(version)
    return {
        submission: said_points(scores, evaluations, hidden=hidden) for submission, scores in found.items()
    }

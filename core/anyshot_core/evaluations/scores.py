"""What further evaluations found, as dry runs, experiments and sites show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from anyshot_core.evaluations.evaluation import EvaluationPoint, FurtherEvaluation
from anyshot_core.words import decimal_words
from anyshot_scoring.summary import RunSummary


@dataclass(frozen=True)
class PointScore:
    """The score of one learner, or of several seeds, at one point of an evaluation.

    Attributes:
        evaluation, title: short name and words of the evaluation; `axis` what `at` is, where the points make a curve.
        point, label: short name and words of the point.
        mean: normalized accuracy, `half_width` of its 95 % interval over tasks; None where it failed or is not known.
        message: why there is no score.
    """

    evaluation: str
    title: str
    axis: str
    point: str
    label: str
    at: float | None
    mean: float | None
    half_width: float | None
    tasks: int
    message: str = ""

    @property
    def words(self) -> str:
        """What it is called where it stands alone: its evaluation, and which point of it where that says more."""
        return self.title if self.label == self.title else f"{self.title}: {self.label}"

    @classmethod
    def of(
        cls,
        evaluation: FurtherEvaluation,
        point: EvaluationPoint,
        summary: RunSummary | None,
        message: str = "",
    ) -> PointScore:
        """The score that a summary gives; without one `message` says why."""
        return cls(
            evaluation=evaluation.short_name,
            title=evaluation.words,
            axis=evaluation.axis,
            point=point.key,
            label=point.label,
            at=point.at,
            mean=None if summary is None else summary.mean,
            half_width=None if summary is None else summary.half_width,
            tasks=0 if summary is None else summary.tasks,
            message=message,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PointScore:
        """As `to_dict` wrote it, in this release or a later one."""
        return cls(**{field.name: data[field.name] for field in fields(cls)})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self)


PointSeries = Mapping[str, Sequence[PointScore]]  # by the name of a learner


def split_points(series: PointSeries) -> tuple[PointSeries, PointSeries]:
    """The scores of evaluations that have one point, and those of the others; learners without any are left out."""
    points = {(score.evaluation, score.point) for scores in series.values() for score in scores}
    counts = Counter(evaluation for evaluation, _ in points)

    def only(alone: bool) -> PointSeries:
        own = {
            name: [score for score in scores if (counts[score.evaluation] == 1) is alone]
            for name, scores in series.items()
        }
        return {name: scores for name, scores in own.items() if scores}

    return only(True), only(False)


def score_text(scores: Sequence[PointScore]) -> str:
    """A line for each point, under the title of its evaluation where that has several."""
    counts = Counter(score.evaluation for score in scores)
    lines, title = list[str](), ""
    for score in scores:
        half = f" ± {score.half_width:.3f}" if score.half_width else ""
        found = (
            score.message or "no score"
            if score.mean is None
            else f"{decimal_words(score.mean)}{half}, {score.tasks} tasks"
        )
        if counts[score.evaluation] == 1:
            lines.append(f"{score.words}: {found}")
            continue
        if score.title != title:
            title = score.title
            lines.append(title)
        lines.append(f"  {score.label}: {found}")
    return "\n".join(lines)


def point_words(score: PointScore | None) -> str:
    """Mean and half width, or why there is none."""
    if score is None:
        return ""
    if score.mean is None:
        return score.message
    return f"{decimal_words(score.mean)}" + (f" ± {score.half_width:.3f}" if score.half_width else "")

"""The curve of a further evaluation: scores over the share of novel classes, or the number of shots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyshot_core.charts.canvas import Chart
from anyshot_core.charts.curves import draw_curves
from anyshot_core.evaluations.scores import PointScore
from anyshot_scoring.summary import Group


def draw_evaluation(series: Mapping[str, Sequence[PointScore]]) -> Chart | None:
    """The curves of one evaluation, one for each name; None where its points make no curve."""
    known = {
        name: [score for score in scores if score.at is not None and score.mean is not None]
        for name, scores in series.items()
    }
    first = next((scores[0] for scores in known.values() if len(scores) > 1), None)
    if first is None or not first.axis:
        return None
    groups = {name: [_group(score) for score in scores] for name, scores in known.items()}
    whole = all(score.at == int(score.at or 0) for scores in known.values() for score in scores)
    return draw_curves(groups, first.title, first.axis, whole=whole)


def _group(score: PointScore) -> Group:
    at, mean = score.at or 0.0, score.mean or 0.0
    return Group(f"{at:g}", mean, score.half_width, score.tasks)

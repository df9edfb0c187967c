"""Where the points of a further evaluation make a curve: scores over the share of novel classes, or of shots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyshot_core.evaluations.scores import PointScore
from anyshot_scoring.summary import Group


@dataclass(frozen=True)
class Curves:
    """One curve for each learner: `groups` are its points in their order, with `key` as the place along `axis`."""

    title: str
    axis: str
    groups: Mapping[str, Sequence[Group]]


def find_curves(series: Mapping[str, Sequence[PointScore]]) -> Curves | None:
    """The curves of one evaluation, one for each name; None where its points make no curve."""
    known = {
        name: [score for score in scores if score.at is not None and score.mean is not None]
        for name, scores in series.items()
    }
    first = next((scores[0] for scores in known.values() if len(scores) > 1), None)
    if first is None or not first.axis:
        return None
    return Curves(
        first.title, first.axis, {name: [_group(score) for score in scores] for name, scores in known.items()}
    )


def _group(score: PointScore) -> Group:
    at, mean = score.at or 0.0, score.mean or 0.0
    return Group(f"{at:g}", mean, score.half_width, score.tasks)

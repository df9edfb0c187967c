"""What pages call further evaluations and their points."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from anyshot_core.evaluations import EachDomain, FurtherEvaluation, PointScore, Shots
from anyshot_platform.foundation.filters import count


def said_title(evaluation: FurtherEvaluation, *, hidden: bool = False) -> str:
    """What an evaluation is called; `hidden`: without the name of its pool."""
    title, more = evaluation.title, evaluation.key if hidden else evaluation.more
    return f"{title} ({more})" if more else title


def said_words(score: PointScore) -> str:
    """What a point is called where it stands alone: its evaluation, and which point of it where that says more."""
    if score.label == score.title:
        return score.title
    return f"{score.title}: {score.label}"


def said_points(
    scores: Iterable[PointScore], evaluations: Sequence[FurtherEvaluation], *, hidden: bool
) -> list[PointScore]:
    """A learner's points with said titles, labels and axes; `hidden`: without the names of domains and pools."""
    known = {one.short_name: one for one in evaluations}
    return [
        _said(score, place, known[name], hidden)
        for name, own in groupby(scores, lambda score: score.evaluation)
        for place, score in enumerate(own, 1)
    ]


def _said(score: PointScore, place: int, evaluation: FurtherEvaluation, hidden: bool) -> PointScore:
    point, title, label = score.point, said_title(evaluation, hidden=hidden), score.label
    if label == score.title:
        label = title  # of the one point there is
    elif isinstance(evaluation, EachDomain):
        if hidden:
            point, label = f"domain-{place}", f"Domain {place}"
    elif isinstance(evaluation, Shots) and score.at is not None:
        label = count(score.at, "shot")
    return replace(score, title=title, axis=evaluation.axis or "", point=point, label=label)

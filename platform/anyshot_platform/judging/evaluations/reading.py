"""The scores of submissions in the further evaluations of their phase."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from anyshot_core.evaluations import PointScore
from anyshot_core.evaluations.seeded import SeededScore
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.judging.evaluations.models import FurtherTest
from anyshot_platform.judging.evaluations.points import PhasePoint, list_points
from anyshot_platform.judging.runs.states import ENDED

WAITS, FAILED, NOT_TESTED = "not ended yet", "failed", "not tested"
_BySeed = dict[int, FurtherTest]
_Read = TypeVar("_Read")


def read_scores(
    session: Session, version: PhaseVersion, submissions: Sequence[str], until: datetime | None = None
) -> dict[str, list[PointScore]]:
    """By submission its score at each point, made of its seeds as its own score is; only what was scored `until` then.

    A submission of which nothing was tested is left out.
    """
    return _read(session, version, submissions, until, _score)


def read_runs(
    session: Session, version: PhaseVersion, submissions: Sequence[str]
) -> dict[str, list[tuple[SeededScore, ...]]]:
    """By submission what the learner of each seeded run scores, of each point that `read_scores` has, in its order.

    None of a point that not all seeds have a score at.
    """
    return _read(session, version, submissions, None, _runs)


def read_failed(session: Session, version: PhaseVersion, submission: str) -> list[list[FurtherTest]]:
    """Of each point of the phase the tests of a submission that failed, one for each seed that did."""
    found = _tests(session, version, [submission], None).get(submission, {})
    return [
        [row for _, row in sorted(found.get(point.digest, {}).items()) if row.failed]
        for point in list_points(session, version)
    ]


def _read(
    session: Session,
    version: PhaseVersion,
    submissions: Sequence[str],
    until: datetime | None,
    read: Callable[[PhaseVersion, PhasePoint, _BySeed], _Read],
) -> dict[str, list[_Read]]:
    """By submission what `read` makes of its tests at each point; without those of which nothing was tested."""
    points = list_points(session, version) if submissions else []
    found = _tests(session, version, submissions, until) if points else {}
    return {
        submission: [read(version, point, own.get(point.digest, {})) for point in points]
        for submission, own in found.items()
        if any(point.digest in own for point in points)
    }


def _tests(
    session: Session, version: PhaseVersion, submissions: Sequence[str], until: datetime | None
) -> dict[str, dict[str, _BySeed]]:
    """The newest tests, by submission and by the digest of what the point is."""
    query = select(FurtherTest).options(joinedload(FurtherTest.run))
    wanted = (FurtherTest.phase_version_id == version.id, FurtherTest.submission_id.in_(submissions))
    found: dict[str, dict[str, _BySeed]] = {}
    for row in session.scalars(query.where(*wanted).order_by(FurtherTest.created_at, FurtherTest.id)):
        if until is None or (row.scored_at is not None and row.scored_at <= until):
            found.setdefault(row.submission_id, {}).setdefault(row.digest, {})[row.seed_index] = row
    return found


def _score(version: PhaseVersion, point: PhasePoint, seeds: _BySeed) -> PointScore:
    empty = PointScore.of(point.evaluation, point.point, None, _why_none(version, seeds))
    summaries = [seeds[place].summary for place in sorted(seeds)]
    runs = [summary.as_run() for summary in summaries if summary is not None]
    if empty.message:
        return empty
    result = version.rule.result(runs)
    shown = summaries[result.shown]
    return PointScore(
        **empty.to_dict()
        | {
            "mean": result.score,
            "half_width": result.half_width,
            "tasks": shown.tasks if shown is not None else 0,
        }
    )


def _runs(version: PhaseVersion, point: PhasePoint, seeds: _BySeed) -> tuple[SeededScore, ...]:
    if _why_none(version, seeds):
        return ()
    summaries = ((place, row.summary) for place, row in sorted(seeds.items()))
    return tuple(
        SeededScore(place, summary.mean, summary.half_width, summary.tasks)
        for place, summary in summaries
        if summary is not None
    )


def _why_none(version: PhaseVersion, seeds: dict[int, FurtherTest]) -> str:
    if any(row.failed for row in seeds.values()):
        return FAILED
    if any(row.run.state not in ENDED for row in seeds.values()):
        return WAITS
    return "" if set(seeds) == set(range(version.seeded_runs)) else NOT_TESTED

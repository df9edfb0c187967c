"""Further columns that a league declares for its boards: other metrics than the one that ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.description import METRIC_WORDS, ColumnSpec
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.filters import duration
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.scores.generations import newest_scored
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.standings.leaderboards.reading import BoardPlace

DURATION = "duration"


@dataclass(frozen=True)
class ExtraColumn:
    """A column: its title, and its text for each row by the row's key; a row without the figure is missing."""

    title: str
    cells: dict[str, str]


def read_extra_columns(
    session: Session, version: PhaseVersion, league: League, places: Sequence[BoardPlace]
) -> tuple[ExtraColumn, ...]:
    """The columns that the league declares, for the rows of one page; runs are combined as their scores are.

    None where the board tells steps alone.
    """
    specs = [ColumnSpec.model_validate(column) for column in league.columns]
    if not specs or not places or version.phase.board_shows.tells_steps_alone:
        return ()
    metrics = _metrics_of(session, version, [place.row.submission_id for place in places])
    return tuple(
        ExtraColumn(
            spec.title or METRIC_WORDS[spec.metric],
            {
                place.row.row_key: text
                for place in places
                if (text := _text(spec, version, place, metrics.get(place.row.submission_id, [])))
            },
        )
        for spec in specs
    )


def _text(spec: ColumnSpec, version: PhaseVersion, place: BoardPlace, runs: list[dict[str, float]]) -> str:
    if spec.metric == DURATION:
        return str(duration(place.row.seconds))
    values = [run[spec.metric] for run in runs if spec.metric in run]
    if not values or len(values) != len(runs):
        return ""
    return f"{version.rule.join.figure(values):.{spec.decimals}f}"


def _metrics_of(
    session: Session, version: PhaseVersion, submissions: Sequence[str]
) -> dict[str, list[dict[str, float]]]:
    """The metrics of each run that counts."""
    newest = newest_scored(version, submissions)
    rows = session.execute(
        select(Run.submission_id, RunScore.summary)
        .join(RunScore, RunScore.run_id == Run.id)
        .join(newest, (newest.c.submission_id == Run.submission_id) & (newest.c.generation == Run.generation))
        .where(Run.phase_version_id == version.id)
        .order_by(Run.seed_index)
    )
    found: dict[str, list[dict[str, float]]] = {}
    for submission, summary in rows:
        values = {str(group.key): group.mean for group in summary.metrics}
        found.setdefault(submission or "", []).append(values)
    return found

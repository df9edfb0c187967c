"""Rows of boards: what one is made of, how it comes, changes and goes. Each of these leaves a `BoardChange`."""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.scores.ranked import entry_of
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.leaderboards.models import BoardChange, BoardRow
from anyshot_scoring.adaptive import on_step
from anyshot_scoring.rankings import rank_values


@dataclass(frozen=True)
class BoardCandidate:
    """What stands for a team (or a baseline) on one league's board."""

    league_id: str
    row_key: str
    ranked: bool
    score: SubmissionScore


def shown_of(phase: Phase, score: SubmissionScore) -> dict[str, Any]:
    """What a board shows of a score: on a Ladder a multiple of its step, without an interval and parts by dataset."""
    if phase.board_shows.tells_steps_alone:
        return {"value": on_step(score.value, phase.ladder_step), "half_width": None, "by_dataset": {}}
    return {"value": score.value, "half_width": score.half_width, "by_dataset": score.by_dataset}


def add_row(session: Session, version: PhaseVersion, team: Team, candidate: BoardCandidate) -> None:
    """Add the row of a team in a league."""
    row = BoardRow(
        phase_version_id=version.id,
        league_id=candidate.league_id,
        row_key=candidate.row_key,
        team_id=team.id,
        sort_value=0.0,  # where the rule compares rows, until it is ranked among the others
    )
    update_row(session, version, row, candidate)
    session.add(row)


def update_row(session: Session, version: PhaseVersion, row: BoardRow, candidate: BoardCandidate) -> bool:
    """Make the row what the candidate is; returns whether that changed anything."""
    score = candidate.score
    shown = shown_of(version.phase, score)
    values: dict[str, Any] = {
        "submission_id": score.submission_id,
        "submission_score_id": score.id,
        "ranked": candidate.ranked,
        **shown,
        "tasks": score.tasks,
        "runs": score.runs,
        "seconds": score.seconds,
        "submitted_at": score.submitted_at,
    }
    if not version.rule.relative:
        entry = replace(entry_of("", score), score=shown["value"])
        (values["sort_value"],) = rank_values([entry], version.rule)
    if all(getattr(row, name) == value for name, value in values.items()):
        return False
    for name, value in values.items():
        setattr(row, name, value)
    row.updated_at = now()
    note_change(session, row, shown["value"])
    return True


def remove_row(session: Session, row: BoardRow) -> None:
    """Take a row off its board."""
    note_change(session, row, None)
    session.delete(row)


def note_change(session: Session, row: BoardRow, value: float | None) -> None:
    """Keep a change of a board: the value that a row took; None where the row goes."""
    session.add(
        BoardChange(
            phase_version_id=row.phase_version_id,
            league_id=row.league_id,
            team_id=row.team_id,
            submission_id=row.submission_id,
            value=value,
        )
    )

"""Keeps leaderboards up to date, one team at a time. The order of a board is that of its phase's ranking rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from anyshot_platform.database import now
from anyshot_platform.entries.choosing import Standing
from anyshot_platform.entries.service import stand
from anyshot_platform.leaderboards.models import BoardChange, BoardRow
from anyshot_platform.leagues.models import League, LeagueEntry
from anyshot_platform.leagues.states import EntryStatus
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.scores.models import SubmissionScore
from anyshot_platform.scores.ranked import entry_of
from anyshot_platform.sight.phases import publication_of
from anyshot_platform.sight.standing import counting
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import SubmissionKind
from anyshot_platform.teams.models import Team
from anyshot_scoring.rankings import rank_values, value_beside


@dataclass(frozen=True)
class _Candidate:
    """What stands for a team (or a baseline) on one league's board."""

    league_id: str
    row_key: str
    ranked: bool
    score: SubmissionScore


def refresh_team(
    session: Session, version: PhaseVersion, team_id: str, *, leaving: str | None = None
) -> None:
    """Bring a team's rows on all boards of a version in line with its scores.

    Reads and writes the team's own rows only, except under relative rules, where one new score moves everybody.
    `leaving` is the id of a score that is about to be removed. A frozen board stays as it is.
    """
    phase = session.get_one(Phase, version.phase_id)
    standings = stand(session, phase, version, session.get_one(Team, team_id), leaving=leaving)
    if publication_of(phase).frozen is not None:
        return
    wanted = {
        (candidate.league_id, candidate.row_key): candidate
        for candidate in _find_candidates(session, version, team_id, standings, leaving)
    }
    rows = session.scalars(
        select(BoardRow).where(BoardRow.phase_version_id == version.id, BoardRow.team_id == team_id)
    ).all()
    touched = set()
    for row in rows:
        candidate = wanted.pop((row.league_id, row.row_key), None)
        if candidate is None:
            _note_change(session, row, None)
            session.delete(row)
            touched.add(row.league_id)
        elif _update_row(session, version, row, candidate):
            touched.add(row.league_id)
    for candidate in wanted.values():
        row = BoardRow(
            phase_version_id=version.id,
            league_id=candidate.league_id,
            row_key=candidate.row_key,
            team_id=team_id,
        )
        _update_row(session, version, row, candidate)
        session.add(row)
        touched.add(candidate.league_id)
    session.flush()
    _order_relatively(session, version, touched)


def refresh_everywhere(session: Session, team_id: str) -> None:
    """Bring all entries and rows of a team in line: who may have an entry has changed."""
    versions = select(PhaseVersion).where(
        PhaseVersion.id.in_(
            select(SubmissionScore.phase_version_id).where(SubmissionScore.team_id == team_id)
        )
    )
    for version in session.scalars(versions).all():
        refresh_team(session, version, team_id)


def rebuild_boards(session: Session, version: PhaseVersion) -> None:
    """Bring all boards of a version in line, after a change that touches everybody (a rule, an unfrozen board)."""
    teams = set(
        session.scalars(
            select(SubmissionScore.team_id).where(SubmissionScore.phase_version_id == version.id).distinct()
        )
    )
    teams.update(
        session.scalars(select(BoardRow.team_id).where(BoardRow.phase_version_id == version.id).distinct())
    )
    for team_id in sorted(teams):
        refresh_team(session, version, team_id)


def _find_candidates(
    session: Session,
    version: PhaseVersion,
    team_id: str,
    standings: Mapping[str, Standing],
    leaving: str | None,
) -> list[_Candidate]:
    team = session.get_one(Team, team_id)
    found = [
        _Candidate(league_id, team_id, not team.out_of_ranking, standing.candidate.score)
        for league_id, standing in standings.items()
        if standing.stands
    ]
    if team.out_of_ranking:
        found += _baselines(session, version, team_id, leaving)
    return found


def _baselines(
    session: Session, version: PhaseVersion, team_id: str, leaving: str | None
) -> list[_Candidate]:
    """The marked rows of the organizers: each submission of a baseline has its own."""
    query = (
        select(LeagueEntry.league_id, SubmissionScore)
        .join(Submission, Submission.id == SubmissionScore.submission_id)
        .join(LeagueEntry, LeagueEntry.submission_id == SubmissionScore.submission_id)
        .join(League, League.id == LeagueEntry.league_id)
        .where(
            SubmissionScore.phase_version_id == version.id,
            SubmissionScore.team_id == team_id,
            Submission.kind == SubmissionKind.BASELINE,
            counting(),
            LeagueEntry.status == EntryStatus.ADMITTED,
            League.deleted_at.is_(None),
        )
    )
    if leaving is not None:
        query = query.where(SubmissionScore.id != leaving)
    return [
        _Candidate(league_id, score.submission_id, False, score)
        for league_id, score in session.execute(query)
    ]


def _update_row(session: Session, version: PhaseVersion, row: BoardRow, candidate: _Candidate) -> bool:
    score = candidate.score
    values: dict[str, Any] = {
        "submission_id": score.submission_id,
        "submission_score_id": score.id,
        "ranked": candidate.ranked,
        "value": score.value,
        "half_width": score.half_width,
        "tasks": score.tasks,
        "runs": score.runs,
        "seconds": score.seconds,
        "by_dataset": score.by_dataset,
        "submitted_at": score.submitted_at,
    }
    if not version.rule.relative:
        (values["sort_value"],) = rank_values([entry_of("", score)], version.rule)
    elif row.sort_value is None:  # a new row, until it is ranked among the others
        row.sort_value = 0.0
    if all(getattr(row, name) == value for name, value in values.items()):
        return False
    for name, value in values.items():
        setattr(row, name, value)
    row.updated_at = now()
    _note_change(session, row, score.value)
    return True


def _note_change(session: Session, row: BoardRow, value: float | None) -> None:
    session.add(
        BoardChange(
            phase_version_id=row.phase_version_id,
            league_id=row.league_id,
            team_id=row.team_id,
            submission_id=row.submission_id,
            value=value,
        )
    )


def note_team(session: Session, team_id: str) -> None:
    """Note that a team's rows are to be shown anew, frozen boards included: its name or standing has changed."""
    for row in session.scalars(select(BoardRow).where(BoardRow.team_id == team_id)):
        _note_change(session, row, row.value)


def _order_relatively(session: Session, version: PhaseVersion, leagues: Iterable[str]) -> None:
    """Give every row of these boards its place among the others, where the rule asks for that.

    A row out of the ranking stands where it would be ranked, and moves nobody.
    """
    if not version.rule.relative:
        return
    for league_id in leagues:
        here = (BoardRow.phase_version_id == version.id, BoardRow.league_id == league_id)
        rows = session.scalars(select(BoardRow).where(*here)).all()
        ranked = [row for row in rows if row.ranked]
        entries = [entry_of(row.id, row) for row in ranked]
        for row, value in zip(ranked, rank_values(entries, version.rule), strict=True):
            row.sort_value = value
        for row in rows:
            if not row.ranked:
                row.sort_value = value_beside(entry_of(row.id, row), entries, version.rule)
    session.flush()


def forget_boards(session: Session, version: PhaseVersion) -> None:
    """Remove all rows of a version, of a draft that is given up."""
    session.execute(delete(BoardRow).where(BoardRow.phase_version_id == version.id))

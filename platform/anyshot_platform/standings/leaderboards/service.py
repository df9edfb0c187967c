"""Keeps leaderboards up to date, one team at a time. The order of a board is that of its phase's ranking rule."""

from collections.abc import Iterable, Sequence

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.judging.domain_events import ScoresChanged
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.scores.ranked import entry_of
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.service import stand
from anyshot_platform.standings.leaderboards.candidates import find_candidates
from anyshot_platform.standings.leaderboards.frozen_board import keep_frozen, shown_since, stood_under
from anyshot_platform.standings.leaderboards.models import BoardChange, BoardRow
from anyshot_platform.standings.leaderboards.rows import (
    BoardCandidate,
    add_row,
    note_change,
    remove_row,
    update_row,
)
from anyshot_scoring.rankings import rank_values, value_beside


def refresh_team(
    session: Session, version: PhaseVersion, team_id: str, *, leaving: str | None = None
) -> None:
    """Bring a team's rows on all boards of a version in line with its scores.

    Reads and writes the team's own rows only, except under relative rules, where one new score moves everybody.
    `leaving` is the id of a score that is about to be removed. A frozen board only loses rows, and gets them back.
    """
    phase, team = session.get_one(Phase, version.phase_id), session.get_one(Team, team_id)
    standings = stand(session, phase, version, team, leaving=leaving)
    rows = list(
        session.scalars(
            select(BoardRow).where(BoardRow.phase_version_id == version.id, BoardRow.team_id == team_id)
        )
    )
    frozen = publication_of(phase).frozen
    if frozen is None:
        found = find_candidates(session, version, team, standings, leaving)
        touched = _follow(session, version, team, rows, found)
    else:
        touched = keep_frozen(session, version, team, rows, shown_since(version, frozen), leaving)
    session.flush()
    _order_relatively(session, version, touched)


def follow_scores(session: Session, changed: ScoresChanged) -> None:
    """Bring the boards in line with a team's scores."""
    refresh_team(session, changed.version, changed.team_id, leaving=changed.leaving)


def _follow(
    session: Session,
    version: PhaseVersion,
    team: Team,
    rows: Sequence[BoardRow],
    candidates: Iterable[BoardCandidate],
) -> set[str]:
    """Make the rows what these candidates are; returns the leagues in which something changed."""
    wanted = {(candidate.league_id, candidate.row_key): candidate for candidate in candidates}
    touched = set()
    for row in rows:
        candidate = wanted.pop((row.league_id, row.row_key), None)
        if candidate is None:
            remove_row(session, row)
            touched.add(row.league_id)
        elif update_row(session, version, row, candidate):
            touched.add(row.league_id)
    for candidate in wanted.values():
        add_row(session, version, team, candidate)
        touched.add(candidate.league_id)
    return touched


def carry_frozen(session: Session, old: PhaseVersion, new: PhaseVersion) -> None:
    """Before `new` becomes live on a frozen board: what stood under `old` stands there too, with its new scores."""
    since = publication_of(new.phase).frozen
    if since is None:
        return
    rows: dict[str, list[BoardRow]] = {}
    for row in session.scalars(select(BoardRow).where(BoardRow.phase_version_id == new.id)):
        rows.setdefault(row.team_id, []).append(row)
    touched = set[str]()
    for team in _teams_on(session, old, new):
        stood = stood_under(session, old, new, team, shown_since(old, since))
        touched |= _follow(session, new, team, rows.get(team.id, []), stood)
    session.flush()
    _order_relatively(session, new, touched)


def _teams_on(session: Session, *versions: PhaseVersion) -> list[Team]:
    """The teams that have or had a row on the boards of these versions."""
    mine = select(BoardChange.team_id).where(BoardChange.phase_version_id.in_([one.id for one in versions]))
    return list(session.scalars(select(Team).where(Team.id.in_(mine)).order_by(Team.id)))


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


def note_team(session: Session, team_id: str) -> None:
    """Note that a team's rows are to be shown anew, frozen boards included: its name or standing has changed."""
    for row in session.scalars(select(BoardRow).where(BoardRow.team_id == team_id)):
        note_change(session, row, row.value)


def note_history(session: Session, submission: Submission) -> None:
    """Note that boards on which a submission stood before another one of its team are to be shown anew.

    Whether it counts has changed, and so have the tops and lines that they show of the past.
    """
    stood = exists().where(
        BoardChange.phase_version_id == BoardRow.phase_version_id,
        BoardChange.league_id == BoardRow.league_id,
        BoardChange.submission_id == submission.id,
    )
    mine = (BoardRow.team_id == submission.team_id, BoardRow.submission_id != submission.id)
    for row in session.scalars(select(BoardRow).where(*mine, stood)):
        note_change(session, row, row.value)


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

"""A frozen board: what stood on it when it was frozen, less what may no longer stand."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.selection import may_stand
from anyshot_platform.standings.leaderboards.candidates import find_baselines
from anyshot_platform.standings.leaderboards.models import BoardChange, BoardRow
from anyshot_platform.standings.leaderboards.rows import (
    BoardCandidate,
    add_row,
    note_change,
    remove_row,
    shown_of,
)


def shown_since(version: PhaseVersion, frozen: datetime) -> datetime:
    """The moment whose rows a version's frozen board shows: the freeze, or when the version became live after it."""
    return max(frozen, version.live_at or frozen)


def keep_frozen(
    session: Session,
    version: PhaseVersion,
    team: Team,
    rows: Sequence[BoardRow],
    moment: datetime,
    leaving: str | None,
) -> set[str]:
    """Take off a team's rows that may no longer stand, bring back those that may again; returns the leagues touched.

    A row that stays keeps its figures, and leaves the ranking with its team. No other submission moves up for one that
    leaves. What may stand again returns unless it was scored anew meanwhile: new scores wait until the board is no
    longer frozen.
    """
    may = may_stand(session, version, team, leaving=leaving)
    if team.out_of_ranking:
        may |= {(one.league_id, one.row_key) for one in find_baselines(session, version, team, leaving)}
    gone = [row for row in rows if (row.league_id, row.submission_id) not in may]
    there = {(row.league_id, row.row_key) for row in rows}
    back = [
        stood
        for stood in _stood_at(session, version, team, moment)
        if (stood.league_id, stood.row_key) not in there
        and (stood.league_id, stood.score.submission_id) in may
    ]
    for row in gone:
        remove_row(session, row)
    for stood in back:
        add_row(session, version, team, stood)
    moved = [row for row in rows if row not in gone and _follow_ranking(session, team, row)]
    return {one.league_id for one in (*gone, *back, *moved)}


def _follow_ranking(session: Session, team: Team, row: BoardRow) -> bool:
    """Rank a team's own row as the team is: baselines are never ranked. Returns whether that changed anything."""
    ranked = not team.out_of_ranking
    if row.row_key != team.id or row.ranked == ranked:
        return False
    row.ranked = ranked
    note_change(session, row, row.value)
    return True


def _stood_at(session: Session, version: PhaseVersion, team: Team, moment: datetime) -> list[BoardCandidate]:
    """What a team had on the boards of a version at a moment, where its score is still the same."""
    scores = session.scalars(
        select(SubmissionScore).where(
            SubmissionScore.phase_version_id == version.id, SubmissionScore.team_id == team.id
        )
    )
    known = {(score.submission_id, shown_of(version.phase, score)["value"]): score for score in scores}
    return [
        BoardCandidate(league_id, row_key, not team.out_of_ranking, known[change.submission_id, change.value])
        for (league_id, row_key), change in _last_changes(session, version, team, moment).items()
        if change.value is not None and (change.submission_id, change.value) in known
    ]


def stood_under(
    session: Session, old: PhaseVersion, new: PhaseVersion, team: Team, moment: datetime
) -> list[BoardCandidate]:
    """What a team had on the boards of `old` at a moment, with its scores under `new`; without one it is left out."""
    query = select(SubmissionScore).where(
        SubmissionScore.phase_version_id == new.id, SubmissionScore.team_id == team.id
    )
    scores = {score.submission_id: score for score in session.scalars(query)}
    return [
        BoardCandidate(league_id, row_key, not team.out_of_ranking, scores[change.submission_id])
        for (league_id, row_key), change in _last_changes(session, old, team, moment).items()
        if change.value is not None and change.submission_id in scores
    ]


def _last_changes(
    session: Session, version: PhaseVersion, team: Team, moment: datetime
) -> dict[tuple[str, str], BoardChange]:
    """The last change of each row before a moment, by league and the row's key."""
    changes = session.execute(
        select(BoardChange, Submission.kind)
        .join(Submission, Submission.id == BoardChange.submission_id)
        .where(
            BoardChange.phase_version_id == version.id,
            BoardChange.team_id == team.id,
            BoardChange.at <= moment,
        )
        .order_by(BoardChange.at, BoardChange.id)
    )
    return {
        (change.league_id, change.submission_id if kind == SubmissionKind.BASELINE else team.id): change
        for change, kind in changes
    }

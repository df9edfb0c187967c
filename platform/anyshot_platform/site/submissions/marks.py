"""What marks a submission in a list: the leagues in which it counts, and whether it is its team's best of the phase."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.scores.ranked import entry_of
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.standing import counting
from anyshot_platform.standings.entries.models import Entry
from anyshot_platform.standings.entries.selection import COMPETES
from anyshot_platform.standings.entries.states import EntryState
from anyshot_scoring.rankings import RankedEntry, choose_entry
from anyshot_scoring.rules import Rule


@dataclass(frozen=True)
class Marks:
    """Of the submissions of a page: the names of the leagues of those that count, and the ids of the best."""

    leagues: dict[str, list[str]]
    best: frozenset[str]


def read_marks(session: Session, submissions: Sequence[Submission]) -> Marks:
    """The marks of these submissions, read with one query each; whether a score may be seen is the caller's."""
    return Marks(_leagues(session, [one.id for one in submissions]), frozenset(_best(session, submissions)))


def _leagues(session: Session, ids: Collection[str]) -> dict[str, list[str]]:
    query = (
        select(Entry.submission_id, League.name)
        .join(League, League.id == Entry.league_id)
        .where(Entry.submission_id.in_(ids), Entry.state == EntryState.STANDING, League.deleted_at.is_(None))
        .order_by(League.position)
    )
    found: dict[str, list[str]] = defaultdict(list)
    for submission_id, name in session.execute(query):
        found[submission_id].append(name)
    return found


def _best(session: Session, submissions: Sequence[Submission]) -> list[str]:
    """Of each team and phase with more than one score: the one that the phase's rule ranks first among the team's."""
    wanted = {(one.team_id, one.phase_id) for one in submissions}
    query = (
        select(SubmissionScore, PhaseVersion)
        .join(Submission, Submission.id == SubmissionScore.submission_id)
        .join(Phase, Phase.id == Submission.phase_id)
        .join(PhaseVersion, PhaseVersion.id == SubmissionScore.phase_version_id)
        .where(
            tuple_(Submission.team_id, Submission.phase_id).in_(wanted),
            PhaseVersion.number == Phase.live_version,
            Submission.kind.in_(COMPETES),
            counting(),
        )
        .order_by(Submission.number)
    )
    own: dict[tuple[str, str], list[RankedEntry]] = defaultdict(list)
    rules: dict[str, Rule] = {}
    for score, version in session.execute(query):
        own[score.team_id, version.id].append(entry_of(score.submission_id, score))
        rules[version.id] = version.rule
    first = [
        choose_entry(entries, "best", rules[version])
        for (_, version), entries in own.items()
        if len(entries) > 1
    ]
    return [entry.key for entry in first if entry is not None]

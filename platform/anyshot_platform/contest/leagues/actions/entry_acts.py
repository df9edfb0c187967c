"""Acts on a submission in a league: admitting and refusing it."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import Written
from anyshot_platform.actions.declaration import (
    TEAM_READS,
    Act,
    ActDone,
    ActRequest,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.status_words import status_words
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.standings.leaderboards.service import refresh_team


@dataclass(frozen=True)
class Judged:
    """A submission in a league, on which organizers decide."""

    entry: LeagueEntry
    submission: Submission
    league: League


def find_judged(session: Session, competition: Competition, submission_id: str, league_id: str) -> Judged:
    """A submission of this competition in a league; raises `NotFound`."""
    entry = session.get(LeagueEntry, (submission_id, league_id))
    submission = session.get(Submission, submission_id)
    if entry is None or submission is None or submission.competition_id != competition.id:
        raise NotFound("There is no such entry.")
    return Judged(entry, submission, session.get_one(League, league_id))


def name_of(judged: Judged) -> str:
    """What people call a submission in a league."""
    return f"no. {judged.submission.number} of “{judged.submission.team.name}” in “{judged.league.name}”"


def written(judged: Judged) -> Written:
    """What is decided on it."""
    return Written(judged.entry.status.value, judged.entry.decided_by, judged.entry.decided_at)


def _target(session: Session, judged: Judged) -> Target:
    submission = judged.submission
    competitions = (submission.competition_id,)
    return Target("submission", submission.id, submission.id[:12], name_of(judged), competitions)


def _verdict(name: str, verb: str, status: EntryStatus, does: str, undo: str, danger: Danger) -> Act[Judged]:
    def look(session: Session, judged: Judged, request: ActRequest) -> Findings:
        if judged.entry.status == status and judged.entry.decided_at is not None:
            return Findings(done=f"It is {status_words(status.value)} already.")
        return Findings(does=[does])

    def do(session: Session, judged: Judged, request: ActRequest) -> ActDone:
        entry, submission = judged.entry, judged.submission
        before = entry.status
        entry.status, entry.reason = status, request.reason
        entry.decided_by, entry.decided_at = request.actor_id, now()
        session.flush()
        for version in submission.phase.versions:
            refresh_team(session, version, submission.team_id)
        return ActDone(
            f"It is {status_words(status.value)}.",
            {"status": before.value, "league": judged.league.id},
            {"status": status.value},
        )

    return Act(f"entry.{name}", f"{verb} {{}}", _target, look, do, undo, TEAM_READS, danger=danger)


ADMIT = _verdict(
    "admit",
    "Admit",
    EntryStatus.ADMITTED,
    "It may stand on the league's boards, where its score is the one that counts.",
    "Refuse it.",
    danger=Danger.NONE,
)
REFUSE = _verdict(
    "refuse",
    "Refuse",
    EntryStatus.REFUSED,
    "It leaves the league's boards; the team sees the reason.",
    "Admit it.",
    danger=Danger.PROOF,
)
ACTS = by_name(ADMIT, REFUSE)
VERDICTS = {EntryStatus.ADMITTED: ADMIT, EntryStatus.REFUSED: REFUSE}

"""The final phase: who enters and why the others do not, and the launch."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from anyshot_core.wire.verdicts import Cause
from anyshot_core.words import decimal_words
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.leagues.models import Gate, League, LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict
from anyshot_platform.foundation.filters import decimal, join_texts
from anyshot_platform.judging.execution.queueing import queue_runs
from anyshot_platform.judging.execution.repeating import newest_runs
from anyshot_platform.judging.execution.service import cancel_submission
from anyshot_platform.judging.execution.settlement import decisive_failure
from anyshot_platform.judging.runs.planning import Urgency, require_evaluable
from anyshot_platform.judging.submissions.actions.submitting import Wishes, Zip, create_submission
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import ACTIVE, SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.phases import look_at_phase
from anyshot_platform.judging.visibility.standing import kept
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.service import TeamEntry, list_entries
from anyshot_platform.standings.entries.states import STATE_WORDS, EntryState
from anyshot_platform.standings.leaderboards.service import refresh_team
from anyshot_scoring.rankings import passes_gate


@dataclass
class FinalCandidate:
    """A team in the preview: what it would enter with, or why it does not."""

    team: Team
    submission: Submission | None = None
    leagues: list[League] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    entered: bool = False  # launched before, with this submission, in all these leagues
    replaces: Submission | None = None  # what was launched before, where another one stands now
    before: Submission | None = None  # the uploaded submission that it was launched with

    @property
    def enters(self) -> bool:
        return self.submission is not None and bool(self.leagues)

    @property
    def waits(self) -> bool:
        """Whether a launch queues it: what would replace an earlier launch waits for the organizer's word."""
        return self.enters and not self.entered and self.replaces is None


def seen_meanwhile(phase: Phase) -> str:
    """What participants see of the phase between launch and publication; empty for nothing."""
    sight = look_at_phase(phase, Role.PARTICIPANT)
    if not sight.scores and sight.board_hidden:
        return ""
    return (
        "Participants see scores and ranks as soon as they are there, and get e-mails: in the "
        "phase's settings “Nothing before the organizers publish the results” is off."
    )


def source_of(session: Session, phase: Phase) -> Phase:
    """The phase that entries come from; raises `Conflict` where none is set."""
    source = session.get(Phase, phase.gate_phase_id) if phase.gate_phase_id else None
    if source is None:
        raise Conflict("Say first from which phase the entries come: edit the phase.")
    return source


def preview(session: Session, phase: Phase) -> list[FinalCandidate]:
    """Every team with a submission in the source phase; one row a submission that enters, or a team that does not.

    Per league, the team's entry in the source phase goes on when it stands and beats the gate. A team has one entry a
    league in the final phase, however often this is repeated.
    """
    source = source_of(session, phase)
    gates = {
        gate.league_id: gate.score for gate in session.scalars(select(Gate).where(Gate.phase_id == phase.id))
    }
    launched = _launched(session, phase)
    entries: dict[str, list[TeamEntry]] = {}
    for row in list_entries(session, source):
        entries.setdefault(row.entry.team_id, []).append(row)
    found: list[FinalCandidate] = []
    for team in _teams_with_submissions(session, source):
        excluded = _why_excluded(session, team)
        if excluded:
            found.append(FinalCandidate(team, reasons=[excluded]))
        else:
            found += _candidates(team, entries.get(team.id, []), gates, launched)
    return sorted(
        found, key=lambda row: (not row.enters, -(row.submission.score or 0.0) if row.submission else 0.0)
    )


def _teams_with_submissions(session: Session, source: Phase) -> list[Team]:
    mine = select(Submission.team_id).where(
        Submission.phase_id == source.id, Submission.kind == SubmissionKind.ENTRY
    )
    return list(session.scalars(select(Team).where(Team.id.in_(mine)).order_by(Team.name_key)))


@dataclass(frozen=True)
class _Launched:
    """A final entry, and the uploaded submission that it is of."""

    final: Submission
    origin: Submission


def _launched(session: Session, phase: Phase) -> dict[tuple[str, str], _Launched]:
    """What was launched before, by team and league."""
    origin = aliased(Submission)
    rows = session.execute(
        select(Submission, origin, LeagueEntry.league_id)
        .join(origin, origin.id == Submission.origin_id)
        .join(LeagueEntry, LeagueEntry.submission_id == Submission.id)
        .where(
            Submission.phase_id == phase.id,
            Submission.kind == SubmissionKind.FINAL,
            kept(),
            LeagueEntry.status == EntryStatus.ADMITTED,
        )
    )
    return {(final.team_id, league_id): _Launched(final, origin) for final, origin, league_id in rows}


def _candidates(
    team: Team,
    entries: list[TeamEntry],
    gates: dict[str, float],
    launched: dict[tuple[str, str], _Launched],
) -> list[FinalCandidate]:
    chosen: dict[tuple[str, str | None, bool], FinalCandidate] = {}
    reasons: list[str] = []
    for row in entries:
        reason = _why_not(row, gates.get(row.league.id))
        if reason:
            reasons.append(join_texts((row.league.name, reason), by=": "))
            continue
        before = launched.get((team.id, row.league.id))
        same = before is not None and before.origin.id == row.submission.id
        other = None if same else before
        key = (row.submission.id, other.final.id if other else None, same)
        candidate = chosen.setdefault(key, FinalCandidate(team, row.submission, entered=same))
        if other is not None:
            candidate.replaces, candidate.before = other.final, other.origin
        candidate.leagues.append(row.league)
    for candidate in chosen.values():
        candidate.reasons = reasons + _says(candidate)
    last = entries[-1].submission if entries else None
    return list(chosen.values()) or [
        FinalCandidate(team, last, reasons=reasons or ["no finished submission in a league"])
    ]


def _why_not(row: TeamEntry, gate: float | None) -> str:
    if row.entry.state != EntryState.STANDING:
        return join_texts((STATE_WORDS[row.entry.state], row.entry.reason), by=": ")
    score = row.submission.score or 0.0
    if not passes_gate(score, gate):
        return f"{decimal(score, 3)} does not beat the gate of {decimal(gate or 0, 3)}"
    return ""


def _says(candidate: FinalCandidate) -> list[str]:
    if candidate.before is None or candidate.submission is None:
        return []
    names = ", ".join(league.name for league in candidate.leagues)
    words = f"{names}: launched with {_named(candidate.before)}; {_named(candidate.submission)} stands now"
    return [words]


def _named(submission: Submission) -> str:
    number = f"no. {submission.number}"
    return (
        number if submission.score is None else join_texts((number, f"({decimal_words(submission.score)})"))
    )


def _why_excluded(session: Session, team: Team) -> str | None:
    statuses = set(session.scalars(select(Membership.status).where(Membership.team_id == team.id)))
    if {MemberStatus.BANNED, MemberStatus.APPROVED} <= statuses:
        return "a member is banned; without them, in a team of their own, the team can enter"
    if MemberStatus.BANNED in statuses:
        return "a member is banned"
    if MemberStatus.APPROVED not in statuses:
        return "nobody of the team takes part any more"
    if team.deleted_at is not None:
        return "the team was dissolved"
    return "out of the ranking" if team.out_of_ranking else None


def launch(
    session: Session,
    phase: Phase,
    actor_id: str,
    *,
    expected: int | None = None,
    replace: Collection[str] = (),
) -> list[Submission]:
    """Queue the runs of all who enter; those launched before are left as they are, so it may be repeated.

    `replace` are ids of teams whose launched entry gives way to the one that stands now.

    Raises `Conflict` where other than `expected` entries would be launched: the preview has changed.
    """
    session.execute(select(Phase.id).where(Phase.id == phase.id).with_for_update())  # one launch at a time
    require_evaluable(live_version(session, phase))
    waiting = to_launch(preview(session, phase), replace)
    if expected is not None and expected != len(waiting):
        raise Conflict(f"There are {len(waiting)} entries now, not {expected}: look at the preview again.")
    phase.launched_at = phase.launched_at or now()
    return [_enter(session, phase, row, actor_id) for row in waiting]


def to_launch(rows: Iterable[FinalCandidate], replace: Collection[str] = ()) -> list[FinalCandidate]:
    """What a launch queues: those who enter, and of those who were launched before the teams in `replace`."""
    return [row for row in rows if row.waits or (row.replaces and row.team.id in replace)]


def _keep_decision(session: Session, origin: Submission, entry: LeagueEntry) -> None:
    """What an organizer decided about a zip holds for its final runs too, whatever they find in it again."""
    before = session.get(LeagueEntry, (origin.id, entry.league_id))
    if before is not None and entry.status == EntryStatus.ADMITTED:
        entry.decided_by, entry.decided_at = before.decided_by, before.decided_at


def _enter(session: Session, phase: Phase, row: FinalCandidate, actor_id: str) -> Submission:
    origin = row.submission
    assert origin is not None
    if row.replaces is not None:
        _retire(session, row, row.replaces, actor_id)
    wanted = {league.id for league in row.leagues}
    submission = _find_final(session, phase, origin)
    if submission is not None and _was_stopped(session, phase, submission):
        queue_runs(session, submission, live_version(session, phase), Urgency(phase.priority))
    elif submission is None:
        submission = create_submission(
            session,
            phase,
            team_id=origin.team_id,
            user_id=origin.user_id,
            archive=Zip(origin.filename, origin.digest, origin.size, list(origin.checks)),
            kind=SubmissionKind.FINAL,
            wishes=Wishes(origin.comment, tuple(league.slug for league in row.leagues)),
            origin=origin,
        )
        # Ties go to the earlier submission, which is the one uploaded then.
        submission.created_at = origin.created_at
    known = {
        entry.league_id: entry
        for entry in session.scalars(select(LeagueEntry).where(LeagueEntry.submission_id == submission.id))
    }
    for league_id in wanted:
        entry = known.get(league_id) or LeagueEntry(submission_id=submission.id, league_id=league_id)
        entry.status, entry.reason = EntryStatus.ADMITTED, ""
        session.add(entry)
        _keep_decision(session, origin, entry)
    session.flush()
    for version in phase.versions:
        refresh_team(session, version, submission.team_id)
    return submission


def _find_final(session: Session, phase: Phase, origin: Submission) -> Submission | None:
    """The final submission of the same code that another league launched before: its runs serve both."""
    query = select(Submission).where(
        Submission.phase_id == phase.id,
        Submission.kind == SubmissionKind.FINAL,
        Submission.origin_id == origin.id,
        kept(),
    )
    return session.scalars(query.limit(1)).first()


def _was_stopped(session: Session, phase: Phase, final: Submission) -> bool:
    """Whether a final submission gets no score because it was cancelled, or is about to be.

    What its own code failed on is not tried again.
    """
    if final.status not in ACTIVE:
        return final.status == SubmissionStatus.CANCELLED
    runs = newest_runs(session, final, live_version(session, phase))
    failure = decisive_failure(runs)
    ours = failure is None or failure.cause == Cause.USER
    return ours and any(run.cancelled_by is not None for run in runs)


def _retire(session: Session, row: FinalCandidate, old: Submission, actor_id: str) -> None:
    """Take a launched entry out of these leagues; what runs for no league any more is cancelled."""
    number = row.submission.number if row.submission else 0
    for league in row.leagues:
        entry = session.get_one(LeagueEntry, (old.id, league.id))
        entry.status = EntryStatus.REFUSED
        entry.reason = f"replaced by no. {number} before the final"
    session.flush()
    left = select(LeagueEntry).where(
        LeagueEntry.submission_id == old.id, LeagueEntry.status == EntryStatus.ADMITTED
    )
    if session.scalars(left.limit(1)).first() is None and old.status in ACTIVE:
        cancel_submission(session, old, by=actor_id)

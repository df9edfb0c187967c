"""The final phase: who enters and why the others do not, and the launch."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.audit import service as audit
from anyshot_platform.competitions.models import Membership
from anyshot_platform.competitions.states import MemberStatus
from anyshot_platform.errors import Conflict
from anyshot_platform.leagues.models import Gate, League, LeagueEntry
from anyshot_platform.leagues.states import EntryStatus
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import live_version
from anyshot_platform.runs.planning import require_evaluable
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.service import Wishes, Zip, create_submission
from anyshot_platform.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.teams.models import Team


@dataclass
class Candidate:
    """A team in the preview: what it would enter with, or why it does not."""

    team: Team
    submission: Submission | None = None
    leagues: list[League] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    entered: bool = False  # launched before

    @property
    def enters(self) -> bool:
        return self.submission is not None and bool(self.leagues)


def source_of(session: Session, phase: Phase) -> Phase:
    """The phase that entries come from; raises `Conflict` where none is set."""
    source = session.get(Phase, phase.gate_phase_id) if phase.gate_phase_id else None
    if source is None:
        raise Conflict("Say first from which phase the entries come: edit the phase.")
    return source


def preview(session: Session, phase: Phase) -> list[Candidate]:
    """Every team with a submission in the source phase; one row a submission that enters, or a team that does not.

    Per league, the team's last finished submission admitted there stands for it, and enters when it beats the gate.
    """
    source = source_of(session, phase)
    leagues = list(
        session.scalars(
            select(League)
            .where(League.competition_id == phase.competition_id, League.deleted_at.is_(None))
            .order_by(League.position)
        )
    )
    gates = {
        gate.league_id: gate.score for gate in session.scalars(select(Gate).where(Gate.phase_id == phase.id))
    }
    found: list[Candidate] = []
    for team in _teams_with_submissions(session, source):
        found += _candidates(session, phase, source, team, leagues, gates)
    return sorted(
        found, key=lambda row: (not row.enters, -(row.submission.score or 0.0) if row.submission else 0.0)
    )


def _teams_with_submissions(session: Session, source: Phase) -> list[Team]:
    mine = select(Submission.team_id).where(
        Submission.phase_id == source.id, Submission.kind == SubmissionKind.ENTRY
    )
    return list(session.scalars(select(Team).where(Team.id.in_(mine)).order_by(Team.name_key)))


def _candidates(
    session: Session, phase: Phase, source: Phase, team: Team, leagues: list[League], gates: dict[str, float]
) -> list[Candidate]:
    excluded = _why_excluded(session, team)
    if excluded:
        return [Candidate(team, reasons=[excluded])]
    chosen: dict[str, Candidate] = {}
    reasons: list[str] = []
    last: Submission | None = None
    for league in leagues:
        submission = _last_finished(session, source, team, league)
        if submission is None:
            continue
        last = submission
        gate = gates.get(league.id)
        if gate is not None and not (submission.score or 0.0) > gate:
            reasons.append(f"{league.name}: {submission.score:.3f} does not beat the gate of {gate:.3f}")
            continue
        row = chosen.setdefault(
            submission.id, Candidate(team, submission, entered=_entered(session, phase, submission))
        )
        row.leagues.append(league)
    for row in chosen.values():
        row.reasons = reasons
    return list(chosen.values()) or [
        Candidate(team, last, reasons=reasons or ["no finished submission in a league"])
    ]


def _why_excluded(session: Session, team: Team) -> str | None:
    statuses = set(session.scalars(select(Membership.status).where(Membership.team_id == team.id)))
    if MemberStatus.BANNED in statuses:
        return "a member is banned"
    if MemberStatus.APPROVED not in statuses:
        return "nobody of the team takes part any more"
    if team.deleted_at is not None:
        return "the team was dissolved"
    return "out of the ranking" if team.out_of_ranking else None


def _last_finished(session: Session, source: Phase, team: Team, league: League) -> Submission | None:
    return session.scalars(
        select(Submission)
        .join(LeagueEntry, LeagueEntry.submission_id == Submission.id)
        .where(
            Submission.phase_id == source.id,
            Submission.team_id == team.id,
            Submission.kind == SubmissionKind.ENTRY,
            Submission.status == SubmissionStatus.FINISHED,
            Submission.score.is_not(None),
            Submission.disqualified_at.is_(None),
            Submission.withdrawn_at.is_(None),
            Submission.deleted_at.is_(None),
            LeagueEntry.league_id == league.id,
            LeagueEntry.status == EntryStatus.ADMITTED,
        )
        .order_by(Submission.created_at.desc(), Submission.id.desc())
        .limit(1)
    ).one_or_none()


def _entered(session: Session, phase: Phase, submission: Submission) -> bool:
    query = select(Submission.id).where(
        Submission.phase_id == phase.id,
        Submission.origin_id == submission.id,
        Submission.deleted_at.is_(None),
    )
    return session.scalar(query.limit(1)) is not None


def launch(session: Session, phase: Phase, actor_id: str, *, expected: int | None = None) -> list[Submission]:
    """Queue the runs of all who enter; those launched before are left as they are, so it may be repeated.

    Raises `Conflict` where other than `expected` entries would be launched: the preview has changed.
    """
    require_evaluable(live_version(session, phase))
    waiting = [row for row in preview(session, phase) if row.enters and not row.entered]
    if expected is not None and expected != len(waiting):
        raise Conflict(f"There are {len(waiting)} entries now, not {expected}: look at the preview again.")
    entered = [_enter(session, phase, row) for row in waiting]
    audit.record(
        session,
        actor_id=actor_id,
        action="final.launch",
        object_type="phase",
        object_id=phase.id,
        competition_id=phase.competition_id,
        after={"entries": len(entered)},
    )
    return entered


def _keep_decision(session: Session, origin: Submission, entry: LeagueEntry) -> None:
    """What an organizer decided about a zip holds for its final runs too, whatever they find in it again."""
    before = session.get(LeagueEntry, (origin.id, entry.league_id))
    if before is not None and entry.status == EntryStatus.ADMITTED:
        entry.decided_by, entry.decided_at = before.decided_by, before.decided_at


def _enter(session: Session, phase: Phase, row: Candidate) -> Submission:
    origin = row.submission
    assert origin is not None
    submission = create_submission(
        session,
        phase,
        team_id=origin.team_id,
        user_id=origin.user_id,
        archive=Zip(origin.filename, origin.digest, origin.size, list(origin.checks)),
        kind=SubmissionKind.FINAL,
        wishes=Wishes(origin.comment, tuple(league.slug for league in row.leagues), dict(origin.fact_sheet)),
        origin_id=origin.id,
    )
    submission.created_at = (
        origin.created_at
    )  # ties go to the earlier submission, which is the one uploaded then
    passed = {league.id for league in row.leagues}
    for entry in session.scalars(select(LeagueEntry).where(LeagueEntry.submission_id == submission.id)):
        entry.status = EntryStatus.ADMITTED if entry.league_id in passed else EntryStatus.REFUSED
        entry.reason = "" if entry.league_id in passed else "did not beat the gate of the league"
        _keep_decision(session, origin, entry)
    session.flush()
    return submission

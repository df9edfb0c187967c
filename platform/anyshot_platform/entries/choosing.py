"""Which submission stands for a team in a league of a phase: the one place that decides it.

Boards, gates, finals, prizes, exports, pages and mails ask here, or read the `Entry` that `service` keeps from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.entries.eligibility import Eligibility, eligibility_of
from anyshot_platform.entries.models import Entry
from anyshot_platform.entries.states import Choice, EntryState
from anyshot_platform.leagues.models import Gate, League, LeagueEntry
from anyshot_platform.leagues.states import EntryStatus
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.phases.states import BoardShows
from anyshot_platform.scores.models import SubmissionScore
from anyshot_platform.scores.ranked import entry_of
from anyshot_platform.sight.standing import standing_of, was_withdrawn_late
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import SubmissionKind
from anyshot_platform.teams.models import Team
from anyshot_scoring.rankings import choose_entry, passes_gate

COMPETES = (SubmissionKind.ENTRY, SubmissionKind.FINAL)


@dataclass(frozen=True)
class Candidate:
    """A scored submission of a team in a league."""

    submission: Submission
    score: SubmissionScore
    admission: LeagueEntry

    @property
    def obstacle(self) -> tuple[EntryState, str] | None:
        """What keeps this submission from standing, in the order in which a person would name it."""
        standing, admission = standing_of(self.submission), self.admission
        if standing.deleted:
            return EntryState.GONE, "The submission was deleted."
        if standing.disqualified is not None:
            return EntryState.DISQUALIFIED, standing.disqualified
        if standing.withdrawn:
            return EntryState.WITHDRAWN, "Your team withdrew the submission."
        if admission.status == EntryStatus.REFUSED:
            return EntryState.REFUSED, admission.reason
        if admission.status == EntryStatus.DECLARED:
            return EntryState.HELD_BACK, admission.reason or "The organizers have not decided yet."
        return None

    @property
    def may_be_chosen(self) -> bool:
        """Whether the rule chooses among it: also one that was withdrawn when the phase had closed.

        Then nobody stands for the team. Otherwise withdrawing would move an earlier submission up, and turn "the last
        counts" into "the best counts".
        """
        if self.obstacle is None:
            return True
        admitted = self.admission.status == EntryStatus.ADMITTED
        return admitted and was_withdrawn_late(self.submission)


@dataclass(frozen=True)
class Standing:
    """The entry of a team in a league under one version of a phase."""

    candidate: Candidate
    choice: Choice
    state: EntryState = EntryState.STANDING
    reason: str = ""

    @property
    def stands(self) -> bool:
        """Whether it is on the board."""
        return self.state == EntryState.STANDING


def choose(
    session: Session,
    phase: Phase,
    version: PhaseVersion,
    team: Team,
    league: League,
    *,
    leaving: str | None = None,
) -> Standing | None:
    """What stands for the team in the league, and what does not and why; None without any scored submission.

    `leaving` is the id of a score that is about to be removed. A submission that may not stand makes way for the one
    that would stand without it; the entry is held back, refused, ... only where none is left.
    """
    candidates = _candidates(session, version, team, league, leaving)
    if not candidates:
        return None
    good = [candidate for candidate in candidates if candidate.may_be_chosen]
    if not good:
        newest = max(candidates, key=_age)
        state, reason = newest.obstacle or (EntryState.STANDING, "")
        return Standing(newest, Choice.LAST, state, reason)
    chosen, choice = _pick(session, phase, version, team, league, good)
    if chosen.obstacle is not None:
        return Standing(chosen, choice, *chosen.obstacle)
    if team.deleted_at is not None:
        return Standing(chosen, choice, EntryState.GONE, "The team was dissolved.")
    return _weigh(chosen, choice, eligibility_of(session, league, team))


def _weigh(chosen: Candidate, choice: Choice, eligibility: Eligibility) -> Standing:
    states = {
        EntryStatus.ADMITTED: EntryState.STANDING,
        EntryStatus.DECLARED: EntryState.HELD_BACK,
        EntryStatus.REFUSED: EntryState.REFUSED,
    }
    return Standing(chosen, choice, states[eligibility.status], eligibility.reason)


def _age(candidate: Candidate) -> tuple[object, str]:
    return candidate.score.submitted_at, candidate.submission.id


def _pick(
    session: Session,
    phase: Phase,
    version: PhaseVersion,
    team: Team,
    league: League,
    good: Sequence[Candidate],
) -> tuple[Candidate, Choice]:
    wish = session.scalars(
        select(Entry.by_hand_id).where(
            Entry.phase_id == phase.id, Entry.league_id == league.id, Entry.team_id == team.id
        )
    ).one_or_none()
    for candidate in good:
        if candidate.submission.id == wish:
            return candidate, Choice.BY_HAND
    if phase.board_shows == BoardShows.BEST:
        return _chosen(good, "best", version), Choice.BEST
    if phase.board_shows == BoardShows.LAST_ABOVE_GATE:
        above = _above_gate(session, phase, league, good)
        if above:
            return _chosen(above, "last", version), Choice.ABOVE_GATE
    return _chosen(good, "last", version), Choice.LAST


def _chosen(good: Sequence[Candidate], which: Literal["last", "best"], version: PhaseVersion) -> Candidate:
    """The last, or the one that the ranking rule ranks first; there must be one."""
    by_id = {candidate.submission.id: candidate for candidate in good}
    entry = choose_entry([entry_of(key, one.score) for key, one in by_id.items()], which, version.rule)
    return by_id[entry.key] if entry is not None else good[0]


def _above_gate(session: Session, phase: Phase, league: League, good: Sequence[Candidate]) -> list[Candidate]:
    """Those that beat the league's gate into the phase that takes its entries from this one."""
    gate = session.scalar(
        select(Gate.score)
        .join(Phase, Phase.id == Gate.phase_id)
        .where(Phase.gate_phase_id == phase.id, Phase.deleted_at.is_(None), Gate.league_id == league.id)
        .order_by(Phase.position)
        .limit(1)
    )
    return [] if gate is None else [one for one in good if passes_gate(one.score.value, gate)]


def _candidates(
    session: Session, version: PhaseVersion, team: Team, league: League, leaving: str | None
) -> list[Candidate]:
    query = (
        select(Submission, SubmissionScore, LeagueEntry)
        .join(SubmissionScore, SubmissionScore.submission_id == Submission.id)
        .join(LeagueEntry, LeagueEntry.submission_id == Submission.id)
        .where(
            SubmissionScore.phase_version_id == version.id,
            SubmissionScore.team_id == team.id,
            LeagueEntry.league_id == league.id,
            Submission.kind.in_(COMPETES),
        )
    )
    if leaving is not None:
        query = query.where(SubmissionScore.id != leaving)
    return [Candidate(*row) for row in session.execute(query)]

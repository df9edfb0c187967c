"""Which submission stands for a team in a league of a phase: the one place that decides it.

Boards, gates, finals, prizes, exports, pages and mails ask here, or read the `Entry` that `service` keeps from it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.models import Gate, League, LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import closed_since, require_open
from anyshot_platform.contest.phases.states import BoardShows
from anyshot_platform.foundation.errors import Forbidden, PlatformError
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.scores.ranked import entry_of
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.judging.visibility.standing import standing_of, was_withdrawn_late
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.eligibility import Eligibility, eligibilities_of_entries
from anyshot_platform.standings.entries.models import Entry
from anyshot_platform.standings.entries.states import Choice, EntryState
from anyshot_scoring.adaptive import climb
from anyshot_scoring.rankings import choose_entry, passes_gate

COMPETES = (SubmissionKind.ENTRY, SubmissionKind.FINAL)


@dataclass(frozen=True)
class EntryCandidate:
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
class StandingEntry:
    """The entry of a team in a league under one version of a phase."""

    candidate: EntryCandidate
    choice: Choice
    state: EntryState = EntryState.STANDING
    reason: str = ""

    @property
    def stands(self) -> bool:
        """Whether it is on the board."""
        return self.state == EntryState.STANDING


@dataclass(frozen=True)
class Succession:
    """A league in which a withdrawal changes what stands; `after` is None where nothing of the team is left."""

    league: League
    before: EntryCandidate
    after: EntryCandidate | None


@dataclass(frozen=True)
class BetterEntry:
    """A submission that ranks above the team's entry in a league, and stands once the `later` ones are withdrawn.

    Where the team may choose its entry, `later` is empty.
    """

    league: League
    standing: EntryCandidate
    best: EntryCandidate
    later: tuple[Submission, ...]


def choose(
    session: Session,
    phase: Phase,
    version: PhaseVersion,
    team: Team,
    leagues: Sequence[League],
    *,
    leaving: str | None = None,
) -> dict[str, StandingEntry]:
    """What stands for the team in each of these leagues, and what does not and why, by league id.

    Leagues without any scored submission of the team are left out. One query for all leagues, whatever their number.
    `leaving` is the id of a score that is about to be removed. A submission that may not stand makes way for the one
    that would stand without it; the entry is held back, refused, ... only where none is left.
    """
    candidates = _candidates(session, version, team, leaving)
    entered = [league for league in leagues if league.id in candidates]
    if not entered:
        return {}
    known = _know(session, phase, version, team, entered, _submissions(candidates))
    return {league.id: _stand(known, league, candidates[league.id]) for league in entered}


def moves_up(phase: Phase, team_id: str) -> bool:
    """Whether another submission of the team takes the place of one that is withdrawn now."""
    ladder = phase.board_shows == BoardShows.LADDER
    return not ladder and publication_of(phase).frozen is None and closed_since(phase, team_id) is None


def find_successions(
    session: Session, version: PhaseVersion, team: Team, withdrawn: Collection[str]
) -> list[Succession]:
    """What withdrawing these submissions, by their ids, would change in each league where another moves up."""
    known, choices = _choices(session, version, team)
    found = []
    for league, good in choices:
        before = _pick(known, league, good)[0]
        left = [one for one in good if one.submission.id not in withdrawn]
        if before not in left:
            found.append(Succession(league, before, _pick(known, league, left)[0] if left else None))
    return found


def find_better(session: Session, version: PhaseVersion, team: Team) -> list[BetterEntry]:
    """The leagues in which an earlier submission of the team ranks above its entry, and can stand again."""
    known, choices = _choices(session, version, team)
    found = (_find_better(known, league, good) for league, good in choices)
    return [better for better in found if better is not None]


def _choices(
    session: Session, version: PhaseVersion, team: Team
) -> tuple[_Known, list[tuple[League, list[EntryCandidate]]]]:
    """The team's leagues with what may stand in each; none where nothing moves up."""
    phase = version.phase
    choices = choices_of(session, version, team) if moves_up(phase, team.id) else {}
    entered = [key for key, good in choices.items() if good]
    leagues = session.scalars(
        select(League)
        .where(League.id.in_(entered), League.deleted_at.is_(None))
        .order_by(League.position, League.id)
    ).all()
    known = _know(session, phase, version, team, leagues, _submissions(choices))
    return known, [
        (league, choices[league.id]) for league in leagues if _is_admitted(known, league, choices[league.id])
    ]


def _is_admitted(known: _Known, league: League, good: Sequence[EntryCandidate]) -> bool:
    """Whether the team may stand in the league with what the rule chooses."""
    chosen = _pick(known, league, good)[0]
    return known.eligibility[league.id, chosen.submission.id].status == EntryStatus.ADMITTED


def _find_better(known: _Known, league: League, good: Sequence[EntryCandidate]) -> BetterEntry | None:
    best, standing = _chosen(good, "best", known.version), _pick(known, league, good)[0]
    if best.score.value == standing.score.value:
        return None
    left, later = list(good), []
    while not may_choose(known.phase, known.team.id) and (last := _pick(known, league, left)[0]) != best:
        left.remove(last)
        later.append(last.submission)
    return BetterEntry(league, standing, best, tuple(sorted(later, key=lambda one: one.number)))


@dataclass(frozen=True)
class _Known:
    """What decides in all leagues, read once."""

    phase: Phase
    version: PhaseVersion
    team: Team
    wishes: Mapping[str, str]  # league id: the submission that the team chose by hand, where it may
    gates: Mapping[str, float]  # league id: into the phase that takes its entries from this one
    eligibility: Mapping[tuple[str, str], Eligibility]  # of league and submission


def _know(
    session: Session,
    phase: Phase,
    version: PhaseVersion,
    team: Team,
    leagues: Sequence[League],
    submissions: Sequence[Submission],
) -> _Known:
    return _Known(
        phase,
        version,
        team,
        _wishes(session, phase, team) if phase.team_chooses else {},
        gates_out_of(session, phase) if phase.board_shows == BoardShows.LAST_ABOVE_GATE else {},
        eligibilities_of_entries(session, leagues, submissions),
    )


def _stand(known: _Known, league: League, candidates: Sequence[EntryCandidate]) -> StandingEntry:
    good = [candidate for candidate in candidates if _takes_part(known.phase, candidate)]
    if not good:
        newest = max(candidates, key=_age)
        state, reason = newest.obstacle or (EntryState.STANDING, "")
        return StandingEntry(newest, Choice.LAST, state, reason)
    chosen, choice = _pick(known, league, good)
    if chosen.obstacle is not None:
        return StandingEntry(chosen, choice, *chosen.obstacle)
    if known.team.deleted_at is not None:
        return StandingEntry(chosen, choice, EntryState.GONE, "The team was dissolved.")
    return _weigh(chosen, choice, known.eligibility[league.id, chosen.submission.id])


def _takes_part(phase: Phase, candidate: EntryCandidate) -> bool:
    """Whether the rule chooses among it.

    On a Ladder also what the team withdrew: else withdrawing what stands would ask the hidden data once more.
    """
    if phase.board_shows == BoardShows.LADDER:
        obstacle, admitted = candidate.obstacle, candidate.admission.status == EntryStatus.ADMITTED
        return obstacle is None or (admitted and obstacle[0] == EntryState.WITHDRAWN)
    return candidate.may_be_chosen


def may_stand(
    session: Session, version: PhaseVersion, team: Team, *, leaving: str | None = None
) -> set[tuple[str, str]]:
    """All that may stand for a team, whatever the rule would choose: ids of leagues and submissions.

    Left out is what has no score, was withdrawn, disqualified or deleted, and leagues where the team may have no entry.
    """
    if team.deleted_at is not None:
        return set()
    candidates = _candidates(session, version, team, leaving)
    leagues = session.scalars(select(League).where(League.id.in_(candidates))).all()
    eligible = eligibilities_of_entries(session, leagues, _submissions(candidates))
    return {
        (league.id, one.submission.id)
        for league in leagues
        for one in candidates[league.id]
        if one.obstacle is None and eligible[league.id, one.submission.id].status == EntryStatus.ADMITTED
    }


def _submissions(candidates: Mapping[str, Sequence[EntryCandidate]]) -> list[Submission]:
    return list(
        {one.submission.id: one.submission for found in candidates.values() for one in found}.values()
    )


def _weigh(chosen: EntryCandidate, choice: Choice, eligibility: Eligibility) -> StandingEntry:
    states = {
        EntryStatus.ADMITTED: EntryState.STANDING,
        EntryStatus.DECLARED: EntryState.HELD_BACK,
        EntryStatus.REFUSED: EntryState.REFUSED,
    }
    return StandingEntry(chosen, choice, states[eligibility.status], eligibility.reason)


def _age(candidate: EntryCandidate) -> tuple[object, str]:
    return candidate.score.submitted_at, candidate.submission.id


def _pick(known: _Known, league: League, good: Sequence[EntryCandidate]) -> tuple[EntryCandidate, Choice]:
    wish = known.wishes.get(league.id)
    for candidate in good:
        if candidate.submission.id == wish:
            return candidate, Choice.BY_HAND
    shows, version = known.phase.board_shows, known.version
    if shows == BoardShows.LADDER:
        return _climbed(good, known.phase.ladder_step), Choice.CLIMBED
    if shows == BoardShows.BEST:
        return _chosen(good, "best", version), Choice.BEST
    if shows == BoardShows.LAST_ABOVE_GATE and league.id in known.gates:
        above = [one for one in good if passes_gate(one.score.value, known.gates[league.id])]
        if above:
            return _chosen(above, "last", version), Choice.ABOVE_GATE
    return _chosen(good, "last", version), Choice.LAST


def _chosen(
    good: Sequence[EntryCandidate], which: Literal["last", "best"], version: PhaseVersion
) -> EntryCandidate:
    """The last, or the one that the ranking rule ranks first; there must be one."""
    by_id = {candidate.submission.id: candidate for candidate in good}
    entry = choose_entry([entry_of(key, one.score) for key, one in by_id.items()], which, version.rule)
    return by_id[entry.key] if entry is not None else good[0]


def _climbed(good: Sequence[EntryCandidate], step: float) -> EntryCandidate:
    """What stands on a Ladder; there must be one."""
    by_id = {candidate.submission.id: candidate for candidate in good}
    stands = climb([entry_of(key, one.score) for key, one in by_id.items()], step)
    return by_id[stands.key] if stands is not None else good[0]


def _wishes(session: Session, phase: Phase, team: Team) -> dict[str, str]:
    """What the team chose by hand, by league id."""
    rows = session.execute(
        select(Entry.league_id, Entry.by_hand_id).where(
            Entry.phase_id == phase.id, Entry.team_id == team.id, Entry.by_hand_id.is_not(None)
        )
    )
    return {league_id: submission_id for league_id, submission_id in rows if submission_id}


def gates_out_of(session: Session, phase: Phase) -> dict[str, float]:
    """By league: its gate into the phase that takes its entries from this one, the first phase where there are more."""
    rows = session.execute(
        select(Gate.league_id, Gate.score)
        .join(Phase, Phase.id == Gate.phase_id)
        .where(Phase.gate_phase_id == phase.id, Phase.deleted_at.is_(None))
        .order_by(Phase.position.desc())
    )
    return {row.league_id: row.score for row in rows}


def _candidates(
    session: Session, version: PhaseVersion, team: Team, leaving: str | None = None
) -> dict[str, list[EntryCandidate]]:
    """The team's scored submissions under a version, by the id of each league that they are in."""
    query = (
        select(Submission, SubmissionScore, LeagueEntry)
        .join(SubmissionScore, SubmissionScore.submission_id == Submission.id)
        .join(LeagueEntry, LeagueEntry.submission_id == Submission.id)
        .where(
            SubmissionScore.phase_version_id == version.id,
            SubmissionScore.team_id == team.id,
            Submission.kind.in_(COMPETES),
        )
        .order_by(Submission.number)
    )
    if leaving is not None:
        query = query.where(SubmissionScore.id != leaving)
    found: dict[str, list[EntryCandidate]] = {}
    for submission, score, admission in session.execute(query):
        found.setdefault(admission.league_id, []).append(EntryCandidate(submission, score, admission))
    return found


def may_choose(phase: Phase, team_id: str) -> bool:
    """Whether a team may choose now which of its submissions stands."""
    try:
        require_choosing(phase, team_id)
    except PlatformError:
        return False
    return True


def require_choosing(phase: Phase, team_id: str | None) -> None:
    """Raise `Forbidden` where the phase decides by its rule alone, `PhaseNotOpen` unless it takes uploads now."""
    if not phase.team_chooses:
        raise Forbidden(f"In {phase.name} the rule of the phase decides which submission counts.")
    require_open(phase, team_id=team_id)


def choices_of(session: Session, version: PhaseVersion, team: Team) -> dict[str, list[EntryCandidate]]:
    """What the team may let stand by hand, by league id, the newest first."""
    return {
        league_id: [one for one in reversed(candidates) if one.obstacle is None]
        for league_id, candidates in _candidates(session, version, team).items()
    }

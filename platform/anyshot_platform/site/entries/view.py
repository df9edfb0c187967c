"""Entries as their team sees them: what stands with its score and rank, what a new upload does to it, its history."""

from datetime import datetime

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from anyshot_core.words import decimal_words
from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.leagues.models import LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import live_version, status_of
from anyshot_platform.contest.phases.states import BoardShows, PhaseStatus
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.submissions.actions.withdrawing import succession_words
from anyshot_platform.judging.visibility.phases import PhaseSight
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.actions.acts import chosen_by_hand
from anyshot_platform.standings.entries.entering import default_leagues, first_status
from anyshot_platform.standings.entries.selection import (
    BetterEntry,
    EntryCandidate,
    choices_of,
    find_better,
    find_successions,
    may_choose,
)
from anyshot_platform.standings.entries.service import Change, TeamEntry, history_of, list_entries
from anyshot_platform.standings.entries.states import CHOICE_WORDS, STATE_WORDS, Choice, EntryState
from anyshot_platform.standings.leaderboards.reading import read_rank_of

_REPLACED_IF = {  # where not every new submission replaces an entry
    Choice.BEST: "it scores better",
    Choice.ABOVE_GATE: "it beats the gate",
    Choice.CLIMBED: "it gains a step of the Ladder",
}
_CHOICE_OF_RULE = {
    BoardShows.BEST: Choice.BEST,
    BoardShows.LAST_ABOVE_GATE: Choice.ABOVE_GATE,
    BoardShows.LADDER: Choice.CLIMBED,
}
_REPLACEABLE = (EntryState.STANDING, EntryState.HELD_BACK)


class EntryChangeOut(BaseModel):
    """One step in the history of an entry, the newest first; `submission` replaced `replaced`."""

    submission: str
    number: int
    replaced: str | None
    replaced_number: int | None
    state: EntryState
    state_words: str
    choice: Choice
    reason: str
    at: datetime


class ChoiceOut(BaseModel):
    """A submission that the team may let stand in a league."""

    submission: str
    number: int
    score: float | None = Field(description="null where the phase hides scores")
    uploaded: datetime


class BetterOut(BaseModel):
    """An earlier submission of the team that ranks above its entry, and how it stands again."""

    submission: str
    number: int
    score: float
    withdraw: list[str] = Field(
        description="ids of the submissions to withdraw for it; empty where the team chooses its entry"
    )
    words: str
    others: str = Field(description="what the withdrawal changes in other leagues")


class EntryOut(BaseModel):
    """The entry of a team in a league of a phase, with its history."""

    league: str
    league_name: str
    submission: str | None = Field(
        description="null where it would tell a score that the phase hides: `choice` is then what its rule chooses"
    )
    number: int | None
    score: float | None = Field(description="null where the phase hides scores, or there is none")
    rank: int | None = Field(description="null where the board is hidden, or the entry is not on it")
    state: EntryState
    state_words: str
    choice: Choice
    choice_words: str
    by_hand: bool = Field(description="whether the team chose a submission by hand")
    chosen: str = Field(description="what the team chose by hand, as #number; empty where the rule decides")
    etag: str = Field(description="of what the team chose, for `If-Match` of a choice")
    next_upload: str = Field(
        description="what a new submission in the league does to the entry, in words; empty where none can come"
    )
    by_default: bool = Field(description="whether an upload that names no league enters this one now")
    reason: str
    updated_at: datetime | None
    better: BetterOut | None = Field(description="null where none ranks above it, or the phase hides scores")
    choices: list[ChoiceOut] = Field(description="what the team may choose instead; empty where it may not")
    history: list[EntryChangeOut]

    @property
    def words(self) -> str:
        """What counts now and what an upload does to it, in one line for the upload page."""
        standing = self.state == EntryState.STANDING
        if self.number is None:
            now = f"Your entry here: {self.choice_words if standing else self.state_words}"
        elif standing:
            now = f"No. {self.number} counts here now"
        else:
            now = f"No. {self.number} is your entry here, {self.state_words}"
        score = "" if self.score is None else f"score {decimal_words(self.score)}"
        rank = "" if self.rank is None else f"rank {self.rank}"
        known = join_texts((now, score, rank), by=", ")
        return join_texts((f"{known}.", self.next_upload))


def show_entries(session: Session, phase: Phase, membership: Membership, sight: PhaseSight) -> list[EntryOut]:
    """The entries of a member's team in a phase, as the phase lets them be seen."""
    team = session.get_one(Team, membership.team_id)
    choices = choices_of(session, live_version(session, phase), team) if may_choose(phase, team.id) else {}
    defaults = {league.id for league in default_leagues(session, team, phase)}
    better = _show_better(session, live_version(session, phase), team) if sight.scores else {}
    return [
        _show(
            session,
            phase,
            row,
            sight,
            choices.get(row.league.id, []),
            row.league.id in defaults,
            better.get(row.league.id),
        )
        for row in list_entries(session, phase, team_id=team.id)
    ]


def _show(
    session: Session,
    phase: Phase,
    row: TeamEntry,
    sight: PhaseSight,
    choices: list[EntryCandidate],
    by_default: bool,
    better: BetterOut | None,
) -> EntryOut:
    entry = row.entry
    stands = entry.state == EntryState.STANDING
    ranked = stands and not sight.board_hidden
    chosen = chosen_by_hand(session, entry).value if phase.team_chooses else ""
    told = sight.choice or entry.choice == Choice.BY_HAND
    choice = entry.choice if told else _CHOICE_OF_RULE[phase.board_shows]
    return EntryOut(
        league=row.league.slug,
        league_name=row.league.name,
        submission=row.submission.id if told else None,
        number=row.submission.number if told else None,
        score=row.submission.score if sight.scores else None,
        rank=read_rank_of(session, live_version(session, phase), row.league, row.submission)
        if ranked
        else None,
        state=entry.state,
        state_words=STATE_WORDS[entry.state],
        choice=choice,
        choice_words=CHOICE_WORDS[choice],
        by_hand=bool(chosen),
        chosen=chosen,
        etag=tag_of({row.league.name: chosen}),
        next_upload=_what_an_upload_does(session, phase, row, choice),
        by_default=by_default,
        reason=entry.reason,
        updated_at=entry.updated_at if told else None,
        better=better,
        choices=[_show_choice(one, sight) for one in choices],
        history=[show_change(one) for one in history_of(session, entry)] if sight.choice else [],
    )


def _what_an_upload_does(session: Session, phase: Phase, row: TeamEntry, choice: Choice) -> str:
    closed = (
        not phase.accepts_uploads or status_of(phase, team_id=row.submission.team_id) == PhaseStatus.CLOSED
    )
    if closed or row.entry.state not in _REPLACEABLE:
        return ""
    if choice == Choice.BY_HAND:
        return "Your team chose it: a new submission does not replace it until you choose again."
    waits = first_status(row.league) == EntryStatus.DECLARED and _is_admitted(session, row)
    if choice in _REPLACED_IF:
        when = f"{'once admitted, ' if waits else ''}if {_REPLACED_IF[choice]}"
    else:
        when = "once it is scored and admitted" if waits else "as soon as it is scored"
    return f"A new submission in this league replaces it {when}."


def _is_admitted(session: Session, row: TeamEntry) -> bool:
    """Whether the submission is admitted; one that waits is replaced by the next one that waits."""
    admission = session.get(LeagueEntry, (row.submission.id, row.league.id))
    return admission is not None and admission.status == EntryStatus.ADMITTED


def _show_better(session: Session, version: PhaseVersion, team: Team) -> dict[str, BetterOut]:
    """By league id, where an earlier submission ranks above the team's entry."""
    return {
        one.league.id: _better_out(session, version, team, one) for one in find_better(session, version, team)
    }


def _better_out(session: Session, version: PhaseVersion, team: Team, one: BetterEntry) -> BetterOut:
    ids = [submission.id for submission in one.later]
    changed = find_successions(session, version, team, set(ids)) if ids else []
    number, score = one.best.submission.number, one.best.score.value
    return BetterOut(
        submission=one.best.submission.id,
        number=number,
        score=score,
        withdraw=ids,
        words=f"Withdraw {_named(one)}, and #{number} ({decimal_words(score)}) stands again"
        if ids
        else f"#{number} ({decimal_words(score)}) ranks higher. Your team can choose it",
        others=join_texts(
            succession_words(row, scores=True) for row in changed if row.league is not one.league
        ),
    )


def _named(one: BetterEntry) -> str:
    """The submissions to withdraw, by their numbers."""
    *first, last = [f"#{submission.number}" for submission in one.later]
    return f"{', '.join(first)} and {last}" if first else last


def _show_choice(candidate: EntryCandidate, sight: PhaseSight) -> ChoiceOut:
    return ChoiceOut(
        submission=candidate.submission.id,
        number=candidate.submission.number,
        score=candidate.score.value if sight.scores else None,
        uploaded=candidate.score.submitted_at,
    )


def show_change(one: Change) -> EntryChangeOut:
    """A step in an entry's history."""
    return EntryChangeOut(
        submission=one.change.submission_id,
        number=one.number,
        replaced=one.change.replaced_id,
        replaced_number=one.replaced_number,
        state=one.change.state,
        state_words=STATE_WORDS[one.change.state],
        choice=one.change.choice,
        reason=one.change.reason,
        at=one.change.at,
    )

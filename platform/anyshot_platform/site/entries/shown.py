"""Entries as their team sees them: what stands with its score and rank, what a new upload does to it, its history."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from anyshot_platform.acts.merging import tag_of
from anyshot_platform.competitions.models import Membership
from anyshot_platform.described.parts import Sentence
from anyshot_platform.entries.choosing import EntryCandidate, choices_of, may_choose
from anyshot_platform.entries.service import Change, TeamEntry, history_of, list_entries
from anyshot_platform.entries.states import CHOICE_WORDS, STATE_WORDS, Choice, EntryState
from anyshot_platform.kernel.language import say, together
from anyshot_platform.leaderboards.reading import read_rank
from anyshot_platform.organizers.entries.acts import chosen_by_hand
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import live_version, status_of
from anyshot_platform.phases.states import BoardShows, PhaseStatus
from anyshot_platform.sight.phases import PhaseSight
from anyshot_platform.teams.models import Team

_UPLOAD_WORDS = {
    BoardShows.LAST: say("A new submission in this league replaces it as soon as it is scored."),
    BoardShows.BEST: say("A new submission in this league replaces it if it scores better."),
    BoardShows.LAST_ABOVE_GATE: say("A new submission in this league replaces it if it beats the gate."),
    BoardShows.LADDER: say("A new submission in this league replaces it if it gains a step of the Ladder."),
}

_REPLACEABLE = (EntryState.STANDING, EntryState.HELD_BACK)


class EntryChangeOut(BaseModel):
    """One step in the history of an entry, the newest first; `submission` replaced `replaced`."""

    submission: str
    number: int
    replaced: str | None
    replaced_number: int | None
    state: EntryState
    state_words: Sentence
    choice: Choice
    reason: str
    at: datetime


class ChoiceOut(BaseModel):
    """A submission that the team may let stand in a league."""

    submission: str
    number: int
    score: float | None = Field(description="null where the phase hides scores")
    uploaded: datetime


class EntryOut(BaseModel):
    """The entry of a team in a league of a phase, with its history."""

    league: str
    league_name: str
    submission: str
    number: int
    score: float | None = Field(description="null where the phase hides scores, or there is none")
    rank: int | None = Field(description="null where the board is hidden, or the entry is not on it")
    state: EntryState
    state_words: Sentence
    choice: Choice
    choice_words: Sentence
    by_hand: bool = Field(description="whether the team chose a submission by hand")
    chosen: str = Field(description="what the team chose by hand, as #number; empty where the rule decides")
    etag: str = Field(description="of what the team chose, for `If-Match` of a choice")
    next_upload: Sentence = Field(
        description="what a new submission in the league does to the entry, in words; empty where none can come"
    )
    reason: str
    updated_at: datetime
    choices: list[ChoiceOut] = Field(description="what the team may choose instead; empty where it may not")
    history: list[EntryChangeOut]

    @property
    def words(self) -> str:
        """What counts now and what an upload does to it, in one line for the upload page."""
        standing = self.state == EntryState.STANDING
        now = (
            say("No. %(number)s counts here now", number=self.number)
            if standing
            else say(
                "No. %(number)s is your entry here, %(state)s", number=self.number, state=self.state_words
            )
        )
        score = "" if self.score is None else say("score %(score)s", score=f"{self.score:.3f}")
        rank = "" if self.rank is None else say("rank %(rank)s", rank=self.rank)
        known = together((now, score, rank), by=", ")
        return together((say("%(words)s.", words=known), self.next_upload))


def show_entries(session: Session, phase: Phase, membership: Membership, sight: PhaseSight) -> list[EntryOut]:
    """The entries of a member's team in a phase, as the phase lets them be seen."""
    team = session.get_one(Team, membership.team_id)
    choices = choices_of(session, live_version(session, phase), team) if may_choose(phase) else {}
    return [
        _show(session, phase, row, sight, choices.get(row.league.id, []))
        for row in list_entries(session, phase, team_id=team.id)
    ]


def _show(
    session: Session, phase: Phase, row: TeamEntry, sight: PhaseSight, choices: list[EntryCandidate]
) -> EntryOut:
    entry = row.entry
    stands = entry.state == EntryState.STANDING
    ranked = stands and not sight.board_hidden
    chosen = chosen_by_hand(session, entry).value
    return EntryOut(
        league=row.league.slug,
        league_name=row.league.name,
        submission=row.submission.id,
        number=row.submission.number,
        score=row.submission.score if sight.scores else None,
        rank=read_rank(session, live_version(session, phase), row.league, entry.team_id) if ranked else None,
        state=entry.state,
        state_words=STATE_WORDS[entry.state],
        choice=entry.choice,
        choice_words=CHOICE_WORDS[entry.choice],
        by_hand=entry.by_hand_id is not None,
        chosen=chosen,
        etag=tag_of({row.league.name: chosen}),
        next_upload=_what_an_upload_does(phase, entry.choice) if entry.state in _REPLACEABLE else "",
        reason=entry.reason,
        updated_at=entry.updated_at,
        choices=[_show_choice(one, sight) for one in choices],
        history=[show_change(one) for one in history_of(session, entry)],
    )


def _what_an_upload_does(phase: Phase, choice: Choice) -> str:
    if not phase.accepts_uploads or status_of(phase) == PhaseStatus.CLOSED:
        return ""
    if choice == Choice.BY_HAND:
        return say("Your team chose it: a new submission does not replace it until you choose again.")
    return _UPLOAD_WORDS[phase.board_shows]


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

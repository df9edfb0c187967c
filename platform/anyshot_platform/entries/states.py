"""The states of an entry, and who chose what stands in it."""

from __future__ import annotations

from enum import StrEnum

from anyshot_platform.kernel.language import say


class EntryState(StrEnum):
    """Where the entry of a team in a league of a phase stands."""

    STANDING = "standing"  # on the board
    HELD_BACK = "held_back"  # waits for answers, for evidence, or for an organizer
    REFUSED = "refused"  # an organizer, or the gate, said no
    WITHDRAWN = "withdrawn"  # by the team
    DISQUALIFIED = "disqualified"  # by an organizer
    GONE = "gone"  # deleted, or the team left the league


class Choice(StrEnum):
    """How the submission that stands was chosen."""

    LAST = "last"
    BEST = "best"
    BY_HAND = "by_hand"
    ABOVE_GATE = "above_gate"  # the last one that beats the gate
    CLIMBED = "climbed"  # the last one that beat what stood by the step of the Ladder


STATE_WORDS: dict[EntryState, str] = {
    EntryState.STANDING: say("stands on the leaderboard"),
    EntryState.HELD_BACK: say("held back"),
    EntryState.REFUSED: say("refused"),
    EntryState.WITHDRAWN: say("withdrawn by the team"),
    EntryState.DISQUALIFIED: say("disqualified"),
    EntryState.GONE: say("no longer in the league"),
}

CHOICE_WORDS: dict[Choice, str] = {
    Choice.LAST: say("the last submission"),
    Choice.BEST: say("the best submission"),
    Choice.BY_HAND: say("chosen by hand"),
    Choice.ABOVE_GATE: say("the last submission above the gate"),
    Choice.CLIMBED: say("the last submission that climbed the Ladder"),
}

"""The states of an entry, and who chose what stands in it."""

from enum import StrEnum


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
    EntryState.STANDING: "stands on the leaderboard",
    EntryState.HELD_BACK: "held back",
    EntryState.REFUSED: "refused",
    EntryState.WITHDRAWN: "withdrawn by the team",
    EntryState.DISQUALIFIED: "disqualified",
    EntryState.GONE: "no longer in the league",
}

CHOICE_WORDS: dict[Choice, str] = {
    Choice.LAST: "the last submission",
    Choice.BEST: "the best submission",
    Choice.BY_HAND: "chosen by hand",
    Choice.ABOVE_GATE: "the last submission above the gate",
    Choice.CLIMBED: "the last submission that climbed the Ladder",
}

"""Words for the choices of a phase."""

from enum import StrEnum

from anyshot_core.wire.jobs import LogPolicy


class PhaseKind(StrEnum):
    """What a phase is for."""

    PUBLIC = "public"  # kit and data, no submissions
    FEEDBACK = "feedback"  # uploads, immediate scores
    FINAL = "final"  # entries come from another phase by the organizer's action
    OTHER = "other"


KIND_WORDS: dict[PhaseKind, str] = {
    PhaseKind.PUBLIC: "Public: kit and data, no submissions",
    PhaseKind.FEEDBACK: "Feedback: uploads, immediate scores",
    PhaseKind.FINAL: "Final: entries are taken over from another phase",
    PhaseKind.OTHER: "Other",
}


class PhaseStatus(StrEnum):
    """Where a phase stands, by the clock and by hand."""

    UPCOMING = "upcoming"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class BoardShows(StrEnum):
    """Which submission stands for a team, on the board and into a final phase."""

    LAST = "last"
    BEST = "best"
    LAST_ABOVE_GATE = "last_above_gate"  # the last one that beats the gate of the next phase, else the last
    LADDER = "ladder"  # the last one that beat what stood by a step

    @property
    def tells_steps_alone(self) -> bool:
        """Whether a row says nothing but its score, as a multiple of the step: no figure beside it may tell more."""
        return self == BoardShows.LADDER


BOARD_WORDS: dict[BoardShows, str] = {
    BoardShows.LAST: "the last submission",
    BoardShows.BEST: "the best submission",
    BoardShows.LAST_ABOVE_GATE: "the last submission above the gate of the next phase, else the last",
    BoardShows.LADDER: (
        "the last submission that beat the one before by a step (a Ladder: scores "
        "are rounded to the step, and nothing else is told while the phase is "
        "open)"
    ),
}


class Audience(StrEnum):
    """Who may look at something."""

    EVERYONE = "everyone"
    PARTICIPANTS = "participants"
    ORGANIZERS = "organizers"


AUDIENCE_WORDS: dict[Audience, str] = {
    Audience.EVERYONE: "everyone",
    Audience.PARTICIPANTS: "participants",
    Audience.ORGANIZERS: "organizers only",
}
LOG_WORDS: dict[LogPolicy, str] = {
    LogPolicy.META_TRAIN: "of meta-training only",
    LogPolicy.EVERYTHING: "everything",
    LogPolicy.NOTHING: "nothing",
}


class VersionState(StrEnum):
    """Where a version of a phase's scoring stands."""

    DRAFT = "draft"
    SCORING = "scoring"  # re-scoring in the background
    LIVE = "live"
    RETIRED = "retired"


class RescoreMode(StrEnum):
    """How a new version gets its scores."""

    NOTHING = "nothing"
    SCORE = "score"  # from the predictions that were kept
    META_TEST = "meta_test"  # from the learners that were kept
    EVERYTHING = "everything"

"""How a league admits, an entry's standing in it, how awards are split."""

from enum import StrEnum


class Admission(StrEnum):
    """How a submission comes into a league."""

    ALL = "all"  # every submission
    DECLARED = "declared"  # the team says so
    APPROVAL = "approval"  # the team says so, an organizer agrees
    FROM_SCRATCH = "from_scratch"  # declared, and the evidence shows no pretrained weights


class EntryStatus(StrEnum):
    """Where a submission stands in a league."""

    DECLARED = "declared"  # waits for an organizer, or for the evidence
    ADMITTED = "admitted"
    REFUSED = "refused"


class AwardSplit(StrEnum):
    """How a team's prize is split between its members."""

    EQUALLY = "equally"
    CAPTAIN = "captain"  # the captain receives it

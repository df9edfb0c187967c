"""Where a team's fact sheet can stand."""

from enum import StrEnum


class SheetState(StrEnum):
    """Where a team's fact sheet stands."""

    NOT_ASKED = "not_asked"
    MISSING = "missing"
    DRAFT = "draft"
    HANDED_IN = "handed_in"

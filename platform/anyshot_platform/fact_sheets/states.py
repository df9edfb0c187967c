"""Who owes a fact sheet, when, and the states of one."""

from __future__ import annotations

from enum import StrEnum


class Due(StrEnum):
    """From whom a competition wants a fact sheet."""

    FINALISTS = "finalists"  # who has an entry in a final phase
    EVERYBODY = "everybody"  # who has submitted
    UPLOAD = "upload"  # with each upload, which is refused without it


class SheetState(StrEnum):
    """Where a team's fact sheet stands."""

    NOT_ASKED = "not_asked"
    MISSING = "missing"
    DRAFT = "draft"
    HANDED_IN = "handed_in"

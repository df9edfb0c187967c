"""Words for what organizers found about the identity of a winner."""

from enum import StrEnum


class IdentityCheck(StrEnum):
    """What came of checking who a member of a winning team is."""

    OPEN = "open"
    VERIFIED = "verified"
    REFUSED = "refused"

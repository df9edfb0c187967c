"""Words for the states and roles of a competition, and for who owes a fact sheet in it."""

from __future__ import annotations

from enum import StrEnum


class CompetitionState(StrEnum):
    """Who can see a competition."""

    DRAFT = "draft"  # its organizers
    PUBLISHED = "published"  # everyone
    ARCHIVED = "archived"  # everyone, nothing can be submitted


class Visibility(StrEnum):
    """Who can see a competition that is published."""

    PUBLIC = "public"  # everyone, and the lists show it
    UNLISTED = "unlisted"  # everyone who has its address; the lists show it to its members alone
    PRIVATE = "private"  # its members, and who is invited


class Registration(StrEnum):
    """How one becomes a participant."""

    OPEN = "open"
    APPROVAL = "approval"
    CLOSED = "closed"


class Role(StrEnum):
    """What a member may do; each role includes the ones after it."""

    OWNER = "owner"
    ORGANIZER = "organizer"
    REVIEWER = "reviewer"
    PARTICIPANT = "participant"

    def includes(self, other: Role) -> bool:
        """Whether this role may do all that the other may."""
        order = list(Role)
        return order.index(self) <= order.index(other)


class MemberStatus(StrEnum):
    """Where a membership stands."""

    INVITED = "invited"  # by the organizers, and has not answered
    PENDING = "pending"
    APPROVED = "approved"
    BANNED = "banned"
    REJECTED = "rejected"  # by the organizers, who alone can admit after that
    WITHDRAWN = "withdrawn"


class Due(StrEnum):
    """From whom a competition wants a fact sheet."""

    FINALISTS = "finalists"  # who has an entry in a final phase
    EVERYBODY = "everybody"  # who has submitted
    UPLOAD = "upload"  # with each upload, which is refused without it

"""The words of states as pages write them: a state's value is for programs."""

STATUS_WORDS: dict[str, str] = {
    # phases
    "upcoming": "upcoming",
    "open": "open",
    "paused": "paused",
    "closed": "closed",
    # versions of a phase
    "scoring": "being scored",
    "live": "in force",
    "retired": "retired",
    # competitions
    "draft": "draft",
    "published": "published",
    "archived": "archived",
    # members and their roles
    "invited": "invited",
    "pending": "pending",
    "approved": "approved",
    "banned": "banned",
    "rejected": "rejected",
    "withdrawn": "withdrawn",
    "owner": "owner",
    "organizer": "organizer",
    "reviewer": "reviewer",
    "participant": "participant",
    # checks of identity
    "verified": "verified",
    # submissions, their kinds, and who has to act on a failure
    "queued": "queued",
    "running": "running",
    "finished": "finished",
    "failed": "failed",
    "cancelled": "cancelled",
    "entry": "entry",
    "smoke": "smoke test",
    "final": "final",
    "baseline": "baseline",
    "infrastructure": "infrastructure",
    "user": "user",
    "unclear": "unclear",
    # fact sheets
    "handed_in": "submitted",
    "missing": "missing",
    "not_asked": "not asked for",
    # entries of leagues
    "declared": "declared",
    "admitted": "admitted",
    "refused": "refused",
}


def status_words(value: str) -> str:
    """What a page calls a state; a value that is not listed is itself."""
    return STATUS_WORDS.get(value, value.replace("_", " "))

"""The words of states as pages write them: a state's value is for programs."""

from anyshot_core.wire.verdicts import Verdict

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

# How a run ended; every other end is the platform's doing.
_VERDICT_WORDS = {
    Verdict.OK: "",
    Verdict.RUNTIME_ERROR: "error in the code",
    Verdict.TIME_LIMIT: "out of time",
    Verdict.MEMORY_LIMIT: "out of memory",
    Verdict.OUTPUT_LIMIT: "too much output",
    Verdict.PROTOCOL_ERROR: "broke the protocol",
    Verdict.BAD_PREDICTION: "invalid prediction",
    Verdict.BAD_ARCHIVE: "bad zip",
    Verdict.CANCELLED: "cancelled",
    Verdict.KILLED: "killed",
}


def verdict_words(verdict: Verdict | None) -> str:
    """How a run ended, in a word or two; empty for one that did not, or ended well."""
    return _VERDICT_WORDS.get(verdict, "our fault") if verdict else ""


def status_words(value: str) -> str:
    """What a page calls a state; a value that is not listed is itself."""
    return STATUS_WORDS.get(value, value.replace("_", " "))

"""The words of states as pages write them: a state's value is for programs."""

from __future__ import annotations

from anyshot_core.wire.verdicts import Verdict
from anyshot_platform.kernel.language import say

STATUS_WORDS: dict[str, str] = {
    # phases
    "upcoming": say("upcoming"),
    "open": say("open"),
    "paused": say("paused"),
    "closed": say("closed"),
    # versions of a phase
    "scoring": say("being scored"),
    "live": say("in force"),
    "retired": say("retired"),
    # competitions
    "draft": say("draft"),
    "published": say("published"),
    "archived": say("archived"),
    # members and their roles
    "invited": say("invited"),
    "pending": say("pending"),
    "approved": say("approved"),
    "banned": say("banned"),
    "rejected": say("rejected"),
    "withdrawn": say("withdrawn"),
    "owner": say("owner"),
    "organizer": say("organizer"),
    "reviewer": say("reviewer"),
    "participant": say("participant"),
    # checks of identity
    "verified": say("verified"),
    # submissions, their kinds, and who has to act on a failure
    "queued": say("queued"),
    "running": say("running"),
    "finished": say("finished"),
    "failed": say("failed"),
    "cancelled": say("cancelled"),
    "entry": say("entry"),
    "smoke": say("smoke test"),
    "final": say("final"),
    "baseline": say("baseline"),
    "infrastructure": say("infrastructure"),
    "user": say("user"),
    "unclear": say("unclear"),
    # fact sheets
    "handed_in": say("submitted"),
    "missing": say("missing"),
    "not_asked": say("not asked for"),
    # entries of leagues
    "declared": say("declared"),
    "admitted": say("admitted"),
    "refused": say("refused"),
}

# How a run ended; every other end is the platform's doing.
_VERDICT_WORDS = {
    Verdict.OK: "",
    Verdict.RUNTIME_ERROR: say("error in the code"),
    Verdict.TIME_LIMIT: say("out of time"),
    Verdict.MEMORY_LIMIT: say("out of memory"),
    Verdict.OUTPUT_LIMIT: say("too much output"),
    Verdict.PROTOCOL_ERROR: say("broke the protocol"),
    Verdict.BAD_PREDICTION: say("invalid prediction"),
    Verdict.BAD_ARCHIVE: say("bad zip"),
    Verdict.CANCELLED: say("cancelled"),
    Verdict.KILLED: say("killed"),
}


def verdict_words(verdict: Verdict | None) -> str:
    """How a run ended, in a word or two; empty for one that did not, or ended well."""
    return _VERDICT_WORDS.get(verdict, say("our fault")) if verdict else ""


def status_words(value: str) -> str:
    """What a page calls a state; a value that is not listed is itself."""
    return STATUS_WORDS.get(value, value.replace("_", " "))

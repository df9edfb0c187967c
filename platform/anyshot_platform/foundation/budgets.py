"""The table of budgets: the one home of every limit on what an actor may use. Operators change limits by name."""

from dataclasses import dataclass, replace

from anyshot_platform.foundation.filters import decimal

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
GIB = 1 << 30
ORGANIZER = "organizer of a competition"


@dataclass(frozen=True)
class UsageBudget:
    """So much of something for one actor. `seconds` is the time it is counted over; None: in all, at any moment."""

    actor: str  # who is counted, in words
    what: str  # what is counted, in words
    limit: int  # 0: no limit
    seconds: int | None
    unit: str = ""  # "bytes", where it is not a number of things

    @property
    def period(self) -> str:
        """The time in words."""
        known = {
            None: "in all",
            300: "in 5 minutes",
            _MINUTE: "a minute",
            _HOUR: "an hour",
            _DAY: "a day",
        }
        return known[self.seconds]

    @property
    def amount(self) -> str:
        """The limit in words."""
        return self.words(self.limit) if self.limit else "no limit"

    def words(self, used: int) -> str:
        """So much of it in words."""
        return f"{round(used / GIB, 1):g} GiB" if self.unit == "bytes" else decimal(used)


BUDGETS = {
    "log_ins": UsageBudget("account and address", "log-ins tried", 10, 300),
    "sign_ups": UsageBudget("address", "sign-ups", 20, _HOUR),
    "links_asked": UsageBudget("address", "links asked for by e-mail (password, confirmation)", 20, _HOUR),
    "links_sent": UsageBudget("account", "links sent by e-mail", 5, _HOUR),
    "proofs": UsageBudget("account", "codes, and passwords asked for again", 10, _HOUR),
    "uploads": UsageBudget("person", "uploads started", 30, 300),
    "upload_bytes": UsageBudget("person", "bytes of uploads that wait to be used", 8 * GIB, None, "bytes"),
    "checks": UsageBudget(
        "person", "checks of zips (one that passed is not counted again when it is handed in)", 30, 300
    ),
    "imports": UsageBudget("person", "competitions imported or created", 20, _HOUR),
    "drafts": UsageBudget("person", "competitions that are drafts", 20, None),
    "competitions": UsageBudget(
        "person", "competitions that are not deleted, copies of rehearsals too", 100, None
    ),
    "rehearsals": UsageBudget("person", "rehearsals started, which use the workers", 10, _DAY),
    "pools": UsageBudget("person", "pools that are not deleted", 100, None),
    "packs": UsageBudget("person", "datasets uploaded", 200, _HOUR),
    "pack_bytes": UsageBudget("person", "bytes of datasets", 200 * GIB, None, "bytes"),
    "announcements": UsageBudget(ORGANIZER, "announcements", 10, _DAY),
    "mails": UsageBudget(ORGANIZER, "e-mails to participants by announcements", 20_000, _DAY),
    "invitations": UsageBudget("person", "invitations to competitions and teams", 50, _DAY),
    "posts": UsageBudget("person", "posts in discussions", 30, _HOUR),
    "webhook_tests": UsageBudget("person", "tests of webhooks", 20, _HOUR),
    "tokens": UsageBudget("person", "API tokens that are valid", 50, None),
    "worker_requests": UsageBudget("address", "requests of machines to become workers", 20, _HOUR),
    "worker_codes": UsageBudget("person", "codes of machines entered", 30, _HOUR),
    "streams": UsageBudget("person", "live pages open at once, in one web process", 20, None),
}


def changed(limits: dict[str, int]) -> dict[str, UsageBudget]:
    """The table with these limits.

    Raises:
        ValueError: a name that is no budget, or a limit below 0.
    """
    unknown = sorted(set(limits) - set(BUDGETS))
    if unknown:
        raise ValueError(f"there is no budget {unknown[0]!r}; known are {', '.join(BUDGETS)}")
    if any(limit < 0 for limit in limits.values()):
        raise ValueError("a limit is 0 (no limit) or more")
    return {name: replace(row, limit=limits.get(name, row.limit)) for name, row in BUDGETS.items()}

"""The result of checking a bundle: a list of checks, each with what was found and what to do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class CheckOutcome(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: `name` is stable for programs, `title` and `found` are for people, `remedy` says what to do."""

    name: str
    title: str
    outcome: CheckOutcome
    found: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class BundleReport:
    """All checks that could be made, in the order a participant would make them."""

    checks: tuple[Check, ...]
    entries: int = 0
    unpacked_bytes: int = 0

    @property
    def ok(self) -> bool:
        """Whether the bundle may be queued; warnings do not stop it."""
        return all(check.outcome is not CheckOutcome.FAILED for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.outcome is CheckOutcome.FAILED)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "ok": self.ok,
            "entries": self.entries,
            "unpacked_bytes": self.unpacked_bytes,
            "checks": [
                {
                    "name": check.name,
                    "title": check.title,
                    "outcome": str(check.outcome),
                    "found": check.found,
                    "remedy": check.remedy,
                }
                for check in self.checks
            ],
        }

"""The checks of a zip in the words of the pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TONES = {"ok": "good", "warning": "warn", "failed": "bad"}


@dataclass(frozen=True)
class CheckView:
    """One check: what was looked at, what was found, what to do."""

    tone: str
    title: str
    message: str
    remedy: str


def check_views(checks: Sequence[Mapping[str, Any]]) -> list[CheckView]:
    """The checks of a `BundleReport` as plain data, for showing."""
    return [
        CheckView(
            tone=_TONES.get(str(check.get("outcome")), "warn"),
            title=str(check.get("title", "")),
            message=str(check.get("found", "")),
            remedy=str(check.get("remedy", "")) if check.get("outcome") != "ok" else "",
        )
        for check in checks
    ]

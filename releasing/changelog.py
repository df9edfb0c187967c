"""CHANGELOG.md in the form of "Keep a Changelog": `## Unreleased` becomes `## [x.y.z] - date`."""

import re
from datetime import date

from releasing.commands import Refused

UNRELEASED = re.compile(r"^## Unreleased\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^- \S", re.MULTILINE)


def release_notes(changelog: str) -> str:
    """What stands below "Unreleased". Raises `Refused` without a single entry."""
    found = UNRELEASED.search(changelog)
    if found is None or not ENTRY.search(found[1]):
        raise Refused("CHANGELOG.md has no entry below `## Unreleased`: write there what users will see.")
    return found[1].strip() + "\n"


def close(changelog: str, version: str, day: date) -> str:
    """The changelog in which those notes are the version's, with an empty "Unreleased" above."""
    notes = release_notes(changelog)
    fresh = f"## Unreleased\n\n## [{version}] - {day.isoformat()}\n\n{notes}\n"
    return UNRELEASED.sub(lambda _: fresh, changelog, count=1)

"""Whether the process lives, and whether it is ready to serve."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from anyshot_platform.migration import is_current
from anyshot_platform.web.services import Services

_NO_FILE = "0" * 64


@dataclass(frozen=True)
class Readiness:
    """What was found, by part: "ok" or what is wrong."""

    parts: dict[str, str]

    @property
    def ok(self) -> bool:
        """Whether all parts are well."""
        return all(word == "ok" for word in self.parts.values())


def check_readiness(services: Services) -> Readiness:
    """Ask database and storage; the broker is no condition, as nothing depends on it."""
    return Readiness({"database": _check_database(services), "storage": _check_storage(services)})


def _check_database(services: Services) -> str:
    try:
        with services.database.reading() as session:
            session.execute(text("SELECT 1"))
        return (
            "ok"
            if is_current(services.database)
            else "the schema is not the newest: run `anyshot admin migrate`"
        )
    except DBAPIError as error:
        return f"unreachable: {type(error).__name__}"


def _check_storage(services: Services) -> str:
    try:
        services.storage.exists(_NO_FILE)
    except Exception as error:  # noqa: BLE001 - whatever a storage client raises, the answer is "not ready"
        return f"unreachable: {type(error).__name__}"
    return "ok"

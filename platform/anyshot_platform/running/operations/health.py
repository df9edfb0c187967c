"""Whether the process lives, and whether it is ready to serve."""

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from anyshot_platform.foundation.background.loops import this_process
from anyshot_platform.foundation.migration import is_current
from anyshot_platform.foundation.services import Services
from anyshot_platform.running.operations.watch import late_loops

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
    """Ask database, storage and this process's background threads; nothing depends on the broker.

    Threads of other processes are watched by an alert: a web process that can serve is not taken off the net for them.
    """
    return Readiness(
        {
            "database": _check_database(services),
            "storage": _check_storage(services),
            "loops": _check_loops(services),
        }
    )


def _check_loops(services: Services) -> str:
    try:
        with services.database.reading() as session:
            late = late_loops(session, services.settings, this_process())
    except SQLAlchemyError as error:
        return f"unknown: {type(error).__name__}"
    words = ", ".join(f"{loop.name} ({loop.age:.0f} s)" for loop in late)
    return f"no round lately: {words}" if late else "ok"


def _check_database(services: Services) -> str:
    try:
        with services.database.reading() as session:
            session.execute(text("SELECT 1"))
        return (
            "ok"
            if is_current(services.database)
            else "the schema is not the newest: run `anyshot admin migrate`"
        )
    except SQLAlchemyError as error:
        return f"unreachable: {type(error).__name__}"


def _check_storage(services: Services) -> str:
    try:
        services.storage.exists(_NO_FILE)
    except Exception as error:  # noqa: BLE001 - whatever a storage client raises, the answer is "not ready"
        return f"unreachable: {type(error).__name__}"
    return "ok"

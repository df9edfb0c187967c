"""What keeps a phase from working, as sentences."""

from __future__ import annotations

from sqlalchemy.orm import Session

from anyshot_platform.phases.leaks import evaluates, leaks
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import live_version


def missing_in(session: Session, phase: Phase) -> list[str]:
    """What a phase needs before anything can be scored in it; nothing for one that scores nothing."""
    if not evaluates(phase):
        return []
    version = live_version(session, phase)
    missing: list[str] = []
    for pool, role in ((version.meta_train, "meta-train"), (version.meta_test, "meta-test")):
        if pool is None:
            missing.append(f"{phase.name} has no {role} pool.")
        elif not pool.entries:
            missing.append(f"The {role} pool “{pool.pool.name}” of {phase.name} has no packs yet.")
    missing += [f"{phase.name}: {problem}" for _, problem in leaks(session, version)]
    if not version.protocol:
        missing.append(f"{phase.name} has no task protocol.")
    return missing

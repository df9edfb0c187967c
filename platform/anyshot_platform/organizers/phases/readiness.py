"""What keeps a phase from working, as sentences."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.protocols import ProtocolError, protocol_from_dict
from anyshot_platform.bundles.sense import judge_phase
from anyshot_platform.organizers.phases.leaks import evaluates, leaks, looks_alike, public_evaluations
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.phases.rows import describe_phase
from anyshot_platform.phases.service import live_version
from anyshot_platform.pools.models import PoolVersion
from anyshot_platform.workers.images import has_image, taking_work
from anyshot_platform.workers.models import Worker


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
    judged = judge_phase(describe_phase(session, phase, ""))
    missing += [f"{phase.name}, {found.field}: {found.words}" for found in judged if found.error]
    if not version.protocol:
        missing.append(f"{phase.name} has no task protocol.")
    return missing


def odd_in(session: Session, phase: Phase) -> list[str]:
    """What organizers should know of a phase: settings that contradict each other, hardware that nobody has."""
    if not evaluates(phase):
        return []
    version = live_version(session, phase)
    judged = judge_phase(describe_phase(session, phase, ""))
    odd = [found.words for found in judged if not found.error]
    if version.meta_test is not None:
        odd += _too_small(version.meta_test, version.protocol)
    odd += [*looks_alike(session, version), *public_evaluations(session, version)]
    offered = set(session.scalars(select(Worker.hardware_class).distinct()))
    if version.hardware_class not in offered:
        known = ", ".join(sorted(offered)) or "none is connected"
        odd.append(
            f"No worker has the hardware class {version.hardware_class} (workers: {known}); runs would wait."
        )
    return odd + _without_image(session, version)


def _without_image(session: Session, version: PhaseVersion) -> list[str]:
    """A sentence where the phase is pinned to an image that no worker has."""
    workers = taking_work(session, version.hardware_class, competition_id=version.phase.competition_id)
    if version.image_digest is None or any(has_image(worker, version.image_digest) for worker in workers):
        return []
    return [
        f"No worker that is connected has the image {version.image_digest}, which the phase is pinned to; "
        "runs would wait."
    ]


def _too_small(pool: PoolVersion, protocol: dict[str, Any]) -> list[str]:
    """Datasets from which the smallest task of a protocol cannot be drawn."""
    try:
        known = protocol_from_dict(protocol)
    except (ProtocolError, ValueError, TypeError, KeyError):
        return []
    ways, shots = (getattr(getattr(known, name, None), "low", None) for name in ("ways", "shots"))
    odd = []
    for entry in pool.entries:
        counts = entry.pack.details.get("class_counts", {}).values()
        if ways is not None and entry.pack.classes < ways:
            odd.append(f"{entry.pack.name} has {entry.pack.classes} classes; a task needs at least {ways}.")
        elif shots is not None and counts and sum(n > shots for n in counts) < (ways or 2):
            odd.append(f"{entry.pack.name} has too few classes with more than {shots} images for a task.")
    return odd

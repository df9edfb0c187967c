"""What keeps a phase from working, as sentences."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.bundles.consistency import judge_phase
from anyshot_platform.contest.phases.actions.drawing import problems_of_drawing
from anyshot_platform.contest.phases.actions.leaks import evaluates, leaks, looks_alike, public_evaluations
from anyshot_platform.contest.phases.description import label_of
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.rows import describe_phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.filters import count, sentence
from anyshot_platform.judging.workers.images import Needs, can_carry, has_image, taking_work
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.judging.workers.packages import why_refused, workers_with

_WAITS = "uploads are taken, and their runs wait until a worker has the image."


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
            missing.append(
                f"The {role} pool “{pool.pool.name}” of {phase.name} has no packs yet: uploaded "
                "packs count once a version of it holds them."
            )
    unfit = list(leaks(session, version))
    if all(field != "tasks.protocol" for field, _ in unfit):  # else the same is said of a side of its classes
        unfit += [("tasks.protocol", words) for words in problems_of_drawing(session, version)]
    missing += [f"{phase.name}: {words}" for _, words in unfit]
    judged = judge_phase(describe_phase(session, phase, ""))
    missing += [f"{phase.name}, {label_of(found.field)}: {found.words}" for found in judged if found.error]
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
    odd += [*looks_alike(session, version), *public_evaluations(session, version)]
    offered = set(session.scalars(select(Worker.hardware_class).distinct()))
    if version.hardware_class not in offered:
        known = ", ".join(sorted(offered)) or "none is connected"
        odd.append(
            f"No worker has the hardware class {version.hardware_class} (workers: {known}); runs would wait."
        )
    return [
        *odd,
        *(_without_image(session, version) or _without_packages(session, version)),
        *_without_gpus(session, version),
    ]


def _without_gpus(session: Session, version: PhaseVersion) -> list[str]:
    """A sentence where a phase has GPUs and no worker has as many with an image that can use them."""
    workers = taking_work(session, version.hardware_class, competition_id=version.phase.competition_id)
    needs = Needs(version.image, version.image_digest, version.gpus)
    if not version.gpus or not workers or any(can_carry(worker, needs) for worker in workers):
        return []
    return [
        (
            f"No worker of the class {version.hardware_class} that is connected has "
            f"{count(version.gpus, 'GPU')} and an image that can use them; runs would wait."
        )
    ]


def _without_packages(session: Session, version: PhaseVersion) -> list[str]:
    """A sentence where runs of the phase wait for an image with its packages, or would do without them."""
    offered = workers_with(session, version).values() if version.packages else ()
    if not version.packages or (version.image_digest in offered if version.image_digest else offered):
        return []
    if version.image_digest:
        words = (
            f"The phase is pinned to {version.image_digest}, which no worker calls {version.image}: unpin it,"
            " or its runs may do without the packages that it adds."
        )
    elif reason := why_refused(session, version.image):
        words = (
            f"The operator refuses the packages of the phase: {sentence(reason)} Change the list; {_WAITS}"
        )
    else:
        words = (
            f"No worker has the image {version.image} with the packages of the phase yet; the site's operator"
            f" sees that it is asked for. Meanwhile {_WAITS}"
        )
    return [words]


def offered_packages(session: Session, version: PhaseVersion) -> list[str]:
    """By which workers, and as which image, the packages that a phase adds are offered."""
    if not version.packages:
        return []
    return [f"{name} as {digest}" for name, digest in workers_with(session, version).items()]


def _without_image(session: Session, version: PhaseVersion) -> list[str]:
    """A sentence where the phase is pinned to an image that no worker has."""
    workers = taking_work(session, version.hardware_class, competition_id=version.phase.competition_id)
    if version.image_digest is None or any(has_image(worker, version.image_digest) for worker in workers):
        return []
    return [
        (
            f"No worker that is connected has the image {version.image_digest}, which the phase is "
            "pinned to; runs would wait."
        )
    ]

"""Pinning a phase to one sandbox image: what that needs, does and leaves."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from anyshot_core.wire.jobs import IMAGE_DIGEST
from anyshot_platform.actions.declaration import ActDone, ActOptions, ActRequest, Findings
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.judging.execution.kinds import counting_runs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.workers.images import digest_of_name, has_image, taking_work
from anyshot_platform.judging.workers.models import Worker

_NOT_BEGUN = (RunState.QUEUED, RunState.WAITING)


class Pin(ActOptions):
    """The image; left out, what the phase's name of an image means to all workers now."""

    digest: Annotated[str, Field(pattern=IMAGE_DIGEST)] | None = None


def is_pinned(phase: Phase) -> bool:
    """Whether the version that counts has one image."""
    return phase.live.image_digest is not None


def look_pin(session: Session, phase: Phase, request: ActRequest[Pin]) -> Findings:
    """Refused where no worker has the image, or several have different ones; asks where scores come from others."""
    version = live_version(session, phase)
    workers = taking_work(session, version.hardware_class, competition_id=phase.competition_id)
    wanted = request.options.digest
    if version.image_digest is not None and wanted in (None, version.image_digest):
        return Findings(done=f"{phase.name} is pinned to {version.image_digest} already.")
    digest, problem = (wanted, "") if wanted else _common(version, workers)
    having = [worker.name for worker in workers if has_image(worker, digest)] if digest else []
    if digest and not having:
        problem = f"No worker of the class {version.hardware_class} that is connected has the image {digest}."
    if problem:
        return Findings(refused=[problem])
    others = [worker.name for worker in workers if worker.name not in having]
    return Findings(
        blocked=_made_with_others(session, version, str(digest)),
        warnings=[f"No more runs of this phase go to {', '.join(others)}."] if others else [],
        does=[f"All runs of the phase use the image {digest}, which {', '.join(having)} has."],
    )


def pin(session: Session, phase: Phase, request: ActRequest[Pin]) -> ActDone:
    """The version that counts, and its runs that have not begun."""
    version = live_version(session, phase)
    workers = taking_work(session, version.hardware_class, competition_id=phase.competition_id)
    digest = request.options.digest or _common(version, workers)[0]
    return _set(session, version, digest, f"{phase.name} is pinned to {digest}.")


def look_unpin(session: Session, phase: Phase, request: ActRequest) -> Findings:
    """Never refused: a site whose image is lost has to go on."""
    version = live_version(session, phase)
    if version.image_digest is None:
        return Findings(done=f"{phase.name} is not pinned to an image.")
    does = (
        (f"Runs from now on use the image that workers call “{version.image}”, whatever its content is.")
        if version.image
        else "Runs from now on use each worker's usual image, whatever its content is."
    )
    return Findings(
        does=[does],
        warnings=["Scores may then come from different images; the page of each run says from which."],
    )


def unpin(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    """Runs that have not begun are free again, too."""
    return _set(session, live_version(session, phase), None, f"{phase.name} is not pinned any more.")


def _set(session: Session, version: PhaseVersion, digest: str | None, words: str) -> ActDone:
    before, version.image_digest = version.image_digest, digest
    waiting = (Run.phase_version_id == version.id, Run.state.in_(_NOT_BEGUN))
    session.execute(update(Run).where(*waiting).values(image_digest=digest))
    return ActDone(words, {"machine.image_digest": before}, {"machine.image_digest": digest})


def _common(version: PhaseVersion, workers: Sequence[Worker]) -> tuple[str | None, str]:
    """The one image that the phase's name means to the workers, or in words why there is none."""
    known: dict[str, list[str]] = {}
    for worker in workers:
        if digest := digest_of_name(worker, version.image):
            known.setdefault(digest, []).append(worker.name)
    if len(known) == 1:
        return next(iter(known)), ""
    if known:
        told = "; ".join(f"{digest} ({', '.join(names)})" for digest, names in sorted(known.items()))
        return (
            None,
            (f"The workers have different images: {told}. Name one of them, or give all workers the same."),
        )
    name = f"an image “{version.image}”" if version.image else "a sandbox image"
    return None, (
        f"No worker of the class {version.hardware_class} that is connected tells the digest of "
        f"{name}: connect one, or upgrade those that there are."
    )


def _made_with_others(session: Session, version: PhaseVersion, digest: str) -> list[str]:
    """A sentence where scores of the version come from runs with other images."""
    runs = select(Run).where(
        Run.phase_version_id == version.id, Run.state == RunState.FINISHED, counting_runs()
    )
    used = [run.provenance.image_digest for run in session.scalars(runs) if run.provenance is not None]
    others = sorted({found for found in used if found not in ("", digest)})
    if not others:
        return []
    number = sum(found in others for found in used)
    return [
        (
            f"{number} of the runs that count were made with {', '.join(others)}: their scores and "
            "those to come are of different images. A new version with this image would score all of "
            "them again."
        )
    ]

"""The images that phases ask for by a list of packages, and what has become of each."""

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import AskedImage
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.states import VersionState
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.workers.images import digest_of_name, taking_work
from anyshot_platform.judging.workers.models import Image
from anyshot_platform.judging.workers.tokens import reach_of


def asked_images(
    session: Session, hardware_class: str | None = None, competition_id: str | None = None
) -> list[AskedImage]:
    """Those of all phases that have not ended, or of a class of workers and of a competition alone; by name."""
    query = (
        select(PhaseVersion)
        .join(Phase, Phase.id == PhaseVersion.phase_id)
        .join(Competition, Competition.id == Phase.competition_id)
        .where(
            PhaseVersion.packages != "",
            PhaseVersion.state != VersionState.RETIRED,
            Phase.deleted_at.is_(None),
            Competition.deleted_at.is_(None),
            or_(Phase.ends_at.is_(None), Phase.ends_at > now()),
        )
        .order_by(PhaseVersion.image, Competition.slug, Phase.position, PhaseVersion.number)
    )
    if hardware_class is not None:
        query = query.where(PhaseVersion.hardware_class == hardware_class)
    if competition_id is not None:
        query = query.where(Phase.competition_id == competition_id)
    asking: dict[str, list[PhaseVersion]] = {}
    for version in session.scalars(query):
        asking.setdefault(version.image or "", []).append(version)
    return [_asked(session, name, versions) for name, versions in asking.items()]


def asked_of(session: Session, token_id: str, hardware_class: str) -> list[AskedImage]:
    """Those whose runs a worker with this token may be given; raises `Forbidden` for another hardware class."""
    return asked_images(session, hardware_class, reach_of(session, token_id, hardware_class))


def _asked(session: Session, name: str, versions: list[PhaseVersion]) -> AskedImage:
    places = dict.fromkeys(f"{one.phase.competition.slug}/{one.phase.slug}" for one in versions)
    having = {worker for one in versions for worker in workers_with(session, one)}
    return AskedImage(
        name=name,
        packages=versions[0].packages.splitlines(),
        phases=list(places),
        workers=sorted(having),
        refused=why_refused(session, name),
    )


def workers_with(session: Session, version: PhaseVersion) -> dict[str, str]:
    """The workers that take runs of a version and have the image that it names, with its digest."""
    workers = taking_work(session, version.hardware_class, competition_id=version.phase.competition_id)
    return {worker.name: digest for worker in workers if (digest := digest_of_name(worker, version.image))}


def why_refused(session: Session, name: str | None) -> str:
    """Why the operator does not build an image; empty where it is not refused."""
    found = session.scalars(select(Image).where(Image.name == name)).one_or_none()
    return found.description if found is not None and not found.enabled else ""

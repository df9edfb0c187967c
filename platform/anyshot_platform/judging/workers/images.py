"""Which workers take work, which sandbox images they have, and which runs they can carry out with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import WorkerInfo
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.workers.models import Worker, WorkerToken

_ANY_MEMORY = 1 << 62  # of a worker that does not say how much it has
GONE_KEY = "anyshot.worker_gone_seconds"  # in `session.info`, put there by the database's own sessions


def takes_work(session: Session, hardware_class: str) -> ColumnElement[bool]:
    """Workers of a class that were heard of lately (the setting), did not say goodbye and are not paused."""
    return and_(
        Worker.hardware_class == hardware_class,
        Worker.last_seen_at > now() - timedelta(seconds=session.info[GONE_KEY]),
        Worker.stopped_at.is_(None),
        Worker.paused_at.is_(None),
    )


def count_workers(session: Session, hardware_class: str) -> int:
    """How many workers of a class take work."""
    return session.scalar(select(func.count(Worker.id)).where(takes_work(session, hardware_class))) or 0


def taking_work(
    session: Session, hardware_class: str, *, competition_id: str | None = None
) -> Sequence[Worker]:
    """The workers of a class that take work now, by name; of a competition, those whose token is good for it."""
    query = select(Worker).where(takes_work(session, hardware_class))
    if competition_id is not None:
        good = or_(WorkerToken.competition_id.is_(None), WorkerToken.competition_id == competition_id)
        query = query.join(WorkerToken, WorkerToken.id == Worker.token_id).where(good)
    return session.scalars(query.order_by(Worker.name)).all()


def has_image(worker: Worker, digest: str | None) -> bool:
    """Whether a worker can do runs that are pinned to an image; none asks for none."""
    return digest is None or (worker.info is not None and digest in worker.info.image_digests.values())


def digest_of_name(worker: Worker, image: str | None) -> str:
    """What a phase's name of an image, or no name, means to a worker now; empty where it does not tell."""
    return worker.info.image_digests.get(image or "", "") if worker.info is not None else ""


@dataclass(frozen=True)
class WorkerImages:
    """Images of a worker: the names that it takes from a phase, the empty one for none, and their digests."""

    names: frozenset[str]
    digests: frozenset[str]

    def serve(self, image: str | None, digest: str | None) -> bool:
        """Whether one of them is what a phase asks for; a digest decides where there is one."""
        return (image or "") in self.names if digest is None else digest in self.digests


def images_of(info: WorkerInfo, *, gpus: bool) -> WorkerImages:
    """The images in which a worker carries out runs; with `gpus` those alone whose torch can use them."""
    barred = set(info.cpu_images) if gpus else set[str]()
    digests = {digest for name, digest in info.image_digests.items() if name not in barred}
    return WorkerImages(frozenset({"", *info.images} - barred), frozenset(digests))


@dataclass(frozen=True)
class Needs:
    """What a run needs of a worker: an image by name and digest (None: the usual one), GPUs, memory in bytes."""

    image: str | None
    digest: str | None
    gpus: int
    memory_bytes: int = 0


def can_carry(worker: Worker, needs: Needs) -> bool:
    """Whether a worker that takes work has the image, the GPUs and the memory; of runs in the queue: `carried_by`."""
    info = worker.info
    if info is None:
        return needs.digest is None and not needs.gpus
    return (
        images_of(info, gpus=needs.gpus > 0).serve(needs.image, needs.digest)
        and needs.gpus <= len(info.gpus)
        and needs.memory_bytes <= (info.memory_bytes or _ANY_MEMORY)
    )


def carried_by(info: WorkerInfo) -> ColumnElement[bool]:
    """Runs that a worker can carry out, as `can_carry` says of each: one rule, in words of the database.

    With GPUs it needs an image that can use them: else the run would fail where another worker could do it.
    """
    without = and_(Run.gpus == 0, _is_in(images_of(info, gpus=False)))
    using = and_(Run.gpus > 0, Run.gpus <= len(info.gpus), _is_in(images_of(info, gpus=True)))
    return and_(or_(without, using), Run.memory_bytes <= (info.memory_bytes or _ANY_MEMORY))


def _is_in(images: WorkerImages) -> ColumnElement[bool]:
    """What `WorkerImages.serve` says, of each run."""
    named = func.coalesce(Run.image, "").in_(sorted(images.names))
    return or_(and_(Run.image_digest.is_(None), named), Run.image_digest.in_(sorted(images.digests)))

"""Which sandbox images the connected workers have, by digest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.database import now
from anyshot_platform.workers.models import Worker, WorkerToken

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

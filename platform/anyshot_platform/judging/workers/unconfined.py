"""Workers that run submissions without a sandbox, of which every page warns."""

from datetime import timedelta

from sqlalchemy import ColumnElement, exists, type_coerce

from anyshot_platform.foundation.database import Json, now
from anyshot_platform.judging.workers.models import Worker

REMEMBERED = timedelta(days=1)  # a worker that is only away for a while is warned of as well


def unconfined_worker() -> ColumnElement[bool]:
    """Whether a worker that did not say goodbye, and was here within a day, runs code without a sandbox."""
    return exists().where(
        Worker.stopped_at.is_(None),
        Worker.last_seen_at > now() - REMEMBERED,
        type_coerce(Worker.info, Json)["sandbox"].as_string() == "trusted",
    )

"""The doorbell: a Celery message that says that there may be work. Never more than a hint."""

import logging
from pathlib import Path
from typing import Any

from celery import Celery

from anyshot_core.wire.worker_api import CELERY_TASK, QUEUE_PREFIX
from anyshot_platform.foundation.settings import PlatformSettings

log = logging.getLogger(__name__)


class Doorbell:
    """Sends `anyshot.ring` with a run's id to the queue of its hardware class."""

    def __init__(self, settings: PlatformSettings) -> None:
        self._folder = None if settings.broker_url else settings.home.absolute() / "broker"
        self._celery = Celery(
            "anyshot", broker=settings.broker_url or "filesystem://localhost", set_as_current=False
        )
        self._celery.conf.update(
            task_serializer="json",
            task_ignore_result=True,
            broker_transport_options=_transport_options(self._folder),
            broker_connection_timeout=2,
            task_publish_retry=False,
        )

    def ring(self, run_id: str, hardware_class: str) -> bool:
        """Send the message; False if the broker cannot be reached (the sweep will ring again)."""
        try:
            if self._folder is not None:  # "the broker may be wiped at any time"
                make_broker_folders(self._folder)
            self._celery.send_task(
                CELERY_TASK, args=[run_id], queue=QUEUE_PREFIX + hardware_class, retry=False
            )
        except Exception:  # whatever the broker's client raises: the sweep rings again
            log.warning("the broker took no ring", extra={"run_id": run_id}, exc_info=True)
            return False
        return True

    def close(self) -> None:
        """Give the connections back."""
        self._celery.close()


def make_broker_folders(folder: Path) -> None:
    """Create what the filesystem transport expects to find."""
    for name in ("messages", "control"):
        (folder / name).mkdir(parents=True, exist_ok=True)


def _transport_options(folder: Path | None) -> dict[str, Any]:
    if folder is None:
        return {"socket_connect_timeout": 2, "socket_timeout": 5, "max_retries": 0}
    messages = str(folder / "messages")
    return {
        "data_folder_in": messages,
        "data_folder_out": messages,
        "control_folder": str(folder / "control"),
        "store_processed": False,
    }

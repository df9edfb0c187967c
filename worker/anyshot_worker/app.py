"""The Celery application: it only listens for the doorbell. What there is to do is asked over HTTP."""

from __future__ import annotations

from typing import Any

from celery import Celery

from anyshot_core.wire.worker_api import CELERY_TASK, QUEUE_PREFIX
from anyshot_worker.claiming import RunClaimer
from anyshot_worker.settings import WorkerSettings


def make_app(settings: WorkerSettings, claimer: RunClaimer) -> Celery:
    """A Celery application with the one task `anyshot.ring`, bound to this worker's claimer."""
    app = Celery("anyshot_worker", broker=settings.broker_url)
    app.conf.update(
        task_ignore_result=True,
        task_acks_late=False,  # the database is the queue: a lost bell is rung again by the sweeper
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        task_serializer="json",
        accept_content=["json"],
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        worker_cancel_long_running_tasks_on_connection_loss=False,  # a broker that went away is no reason to stop
        broker_transport_options=_transport_options(settings),
        task_default_queue=QUEUE_PREFIX + settings.hardware_class,
    )

    @app.task(name=CELERY_TASK)  # pyright: ignore[reportUntypedFunctionDecorator]
    def ring(run_id: str) -> None:
        """Somebody says that there may be work; the argument only tells for the log which run it was."""
        del run_id
        claimer.work()

    return app


def _transport_options(settings: WorkerSettings) -> dict[str, Any]:
    if not settings.broker_url.startswith("filesystem"):
        return {}
    if settings.broker_folder is None:
        raise ValueError("The embedded broker needs a folder: set ANYSHOT_BROKER_FOLDER.")
    messages, control = settings.broker_folder / "messages", settings.broker_folder / "control"
    for folder in (messages, control):
        folder.mkdir(parents=True, exist_ok=True)
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": 0.2,  # seconds between looks into the folder
    }

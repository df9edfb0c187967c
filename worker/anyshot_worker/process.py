"""The worker process: put together from its settings, run until told to stop."""

import logging
import signal
import threading
import time
import warnings
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning

from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import CELERY_TASK, QUEUE_PREFIX
from anyshot_worker.attempt import Site
from anyshot_worker.claiming import RunClaimer, announce
from anyshot_worker.client import WorkerClient
from anyshot_worker.sandbox import SandboxError, Sandboxes
from anyshot_worker.settings import WorkerSettings
from anyshot_worker.workspace import Workspace

log = logging.getLogger(__name__)

DRAIN_SECONDS = 20.0
DAEMON_PATIENCE = 60.0  # seconds for a Docker daemon that is just being started, too
DAEMON_PAUSE = 2.0
LOOK_SECONDS = 0.2  # between looks whether it is time to stop


def run(settings: WorkerSettings, *, until_idle: bool = False, stop_at: float = float("inf")) -> None:
    """Serve until SIGTERM or SIGINT; then give the leases back, kill the sandboxes and return.

    `stop_at` (of the monotonic clock) stops it as a signal does. With `until_idle` it returns, too, as soon as nothing
    waits for it.

    Raises `SandboxError` before anything is claimed when the sandbox does not keep its promises.
    """
    draining = threading.Event()
    client = WorkerClient(settings.platform_url, settings.worker_token.get_secret_value())
    sandboxes = open_sandboxes(settings)
    try:
        workspace = Workspace(settings.workspace, settings.workspace_bytes, client)
        site = Site(settings.worker_name, client, workspace, sandboxes, draining)
        claimer = RunClaimer(
            site,
            announce(settings.worker_name, settings.hardware_class, sandboxes),
            settings.concurrency,
            settings.poll_seconds,
        )
        claimer.open()
        log.info("worker %s is ready: sandbox %s", settings.worker_name, sandboxes.name)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: draining.set())
        if settings.broker_url:
            listener = make_listener(settings, claimer)
            threading.Thread(target=listener.start, name="celery", daemon=True).start()
        wait_for_the_end(claimer, draining, until_idle, stop_at)
        log.info("worker %s is stopping", settings.worker_name)
        draining.set()
        drain(claimer)
    finally:
        draining.set()
        sandboxes.close()
        client.close()


def open_sandboxes(settings: WorkerSettings) -> Sandboxes:
    """The sandboxes, as soon as the Docker daemon answers; raises `SandboxError` if it does not, or for what stays."""
    deadline = time.monotonic() + DAEMON_PATIENCE
    while True:
        try:
            return Sandboxes.from_settings(settings)
        except SandboxError as error:
            if error.verdict is not Verdict.DOCKER_ERROR or time.monotonic() > deadline:
                raise
            log.warning("waiting for the sandbox: %s", error)
        time.sleep(DAEMON_PAUSE)


def wait_for_the_end(
    claimer: RunClaimer, draining: threading.Event, until_idle: bool, stop_at: float = float("inf")
) -> None:
    """Wait, while other threads work, until `draining` is set, until `stop_at`, or until nothing waits.

    Celery's own warm shutdown would wait for running tasks to end; ours gives their leases back instead.
    """
    while not draining.wait(LOOK_SECONDS):
        if until_idle and claimer.done:
            log.info("nothing waits for this worker")
            return
        if time.monotonic() > stop_at:
            log.info("the time of this worker is up")
            return


def make_listener(settings: WorkerSettings, claimer: RunClaimer) -> Any:
    """Celery's worker, without its advice to root: that names an option of Celery's own command."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return make_app(settings, claimer).Worker(
            pool="threads",
            concurrency=settings.concurrency,
            loglevel="WARNING",
            hostname=f"{settings.worker_name}@%h",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            quiet=True,
        )


def make_app(settings: WorkerSettings, claimer: RunClaimer) -> Celery:
    """A Celery application with the one task `anyshot.ring`: it only listens for the doorbell.

    What there is to do is asked over HTTP.
    """
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


def drain(claimer: RunClaimer) -> None:
    """Wait while attempts give their leases back; then do it for those at a step that takes longer."""
    deadline = time.monotonic() + DRAIN_SECONDS
    while not claimer.idle and time.monotonic() < deadline:
        time.sleep(0.05)
    claimer.release_live()

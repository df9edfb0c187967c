"""The worker process: put together from its settings, run until told to stop."""

from __future__ import annotations

import logging
import signal
import threading
import time
import warnings
from typing import Any

from celery.exceptions import SecurityWarning

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.announcement import announce
from anyshot_worker.app import make_app
from anyshot_worker.attempt import Site
from anyshot_worker.claiming import RunClaimer
from anyshot_worker.client import WorkerClient
from anyshot_worker.sandbox import SandboxError, Sandboxes
from anyshot_worker.settings import WorkerSettings
from anyshot_worker.workspace import Workspace

log = logging.getLogger(__name__)

DRAIN_SECONDS = 20.0
DAEMON_PATIENCE = 60.0  # seconds for a Docker daemon that is just being started, too
DAEMON_PAUSE = 2.0


def run(settings: WorkerSettings) -> None:
    """Serve until SIGTERM or SIGINT; then give the leases back, kill the sandboxes and return.

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
        _listen(settings, claimer, draining)
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


def _listen(settings: WorkerSettings, claimer: RunClaimer, draining: threading.Event) -> None:
    """Let Celery listen for bells in its own thread; this one waits for a signal and drains.

    Celery's own warm shutdown would wait for running tasks to end; ours gives their leases back instead.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: draining.set())
    listener = make_listener(settings, claimer)
    threading.Thread(target=listener.start, name="celery", daemon=True).start()
    draining.wait()
    log.info("worker %s is stopping", settings.worker_name)
    drain(claimer)


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


def drain(claimer: RunClaimer) -> None:
    """Wait while attempts give their leases back; then do it for those at a step that takes longer."""
    deadline = time.monotonic() + DRAIN_SECONDS
    while not claimer.idle and time.monotonic() < deadline:
        time.sleep(0.05)
    claimer.release_live()

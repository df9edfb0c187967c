"""The platform's processes: the web service with sweeper and senders, and in the embedded set-up one worker."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from sqlalchemy import select

from anyshot_core.command import AS_PROCESS
from anyshot_platform.app import create_app, make_services
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.background.dispatch import Dispatcher
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.logs import configure_logging
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import PlatformSettings, read_settings
from anyshot_platform.judging.receipts.service import make_key
from anyshot_platform.judging.workers.models import WorkerToken
from anyshot_platform.judging.workers.tokens import Reach, create_worker_token
from anyshot_platform.people.alerts.delivery import tell_operators
from anyshot_platform.people.notifications.delivery import send_due_emails
from anyshot_platform.people.webhooks.delivery import send_due_deliveries
from anyshot_platform.running.announcements.results import say_change
from anyshot_platform.server.sweeper import Sweeper
from anyshot_platform.site.web.rendering import environment
from anyshot_platform.site.web.slow_connections import LimitedPatience

log = logging.getLogger(__name__)
START_PAGES = ("/", "/competitions")
EMBEDDED_TOKEN = "embedded"
SWITCH_SECONDS = 0.0005
WORKER_ENDED = "the embedded worker ended; it is started again"


def make_app() -> FastAPI:
    """The web service of one of several processes; its settings come from the environment."""
    settings = read_settings()
    configure_logging(settings.log_format)
    app = create_app(settings)
    _settle_in(app)
    return app


def _settle_in(app: FastAPI) -> None:
    """Warm the process up, and tune the interpreter for serving, once everything is made."""
    warm_up(app)
    gc.collect()
    gc.freeze()  # what was made so far lives as long as the process
    # Each step of the event loop takes the interpreter back from threads that render pages: it must not wait long.
    sys.setswitchinterval(SWITCH_SECONDS)


def serve(settings: PlatformSettings, *, embedded_worker: bool = False, sweeper: bool = True) -> None:
    """Serve until stopped: migrate, then web service, sweeper, senders and, if asked, one worker as a child."""
    configure_logging(settings.log_format)
    # Uvicorn raises SIGTERM again after its own shutdown; by default that would leave the worker behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    services = make_services(settings)
    prepare(services)
    if settings.web_processes > 1:
        _serve_many(settings, services, embedded_worker=embedded_worker, sweeper=sweeper)
        return
    app = create_app(settings, services)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        **connection_rules(settings),
    )
    server = uvicorn.Server(config)
    _settle_in(app)
    with _beside(settings, services, lambda: _port_of(server), embedded_worker, sweeper):
        server.run()


@contextmanager
def _beside(
    settings: PlatformSettings,
    services: Services,
    port: Callable[[], int | None],
    embedded_worker: bool,
    sweeper: bool,
) -> Iterator[None]:
    """What this process does beside the web service: sweeper and senders, and a worker as a child."""
    with ExitStack() as stack:
        if sweeper:
            stack.enter_context(Background(services))
        if embedded_worker:
            worker = EmbeddedWorker(settings, make_embedded_token(services), port)
            stack.callback(worker.stop)
            worker.start()
        yield


def connection_rules(settings: PlatformSettings) -> dict[str, Any]:
    """How connections are treated: time limits, and whose word on a visitor's address is believed."""
    return {
        "log_config": None,
        "access_log": False,
        "http": LimitedPatience,
        "proxy_headers": True,
        "forwarded_allow_ips": settings.trusted_proxies,
        "timeout_keep_alive": 30,
        "timeout_graceful_shutdown": 5,
    }


def prepare(services: Services) -> None:
    """Close the site's files to other users, bring the database to the newest schema, make sure of bucket and key."""
    keep_private(services.settings)
    migrate(services.database)
    with services.database.writing() as session:
        make_key(session)
    services.storage.prepare()


def run_background(settings: PlatformSettings, stop: threading.Event) -> None:
    """Sweeper and senders as a process of their own, beside several web services."""
    configure_logging(settings.log_format)
    os.umask(0o077)
    services = make_services(settings)
    with Background(services):
        stop.wait()


def keep_private(settings: PlatformSettings) -> None:
    """What this process writes is its user's alone: password digests, keys of phases, e-mails with links."""
    os.umask(0o077)
    home = settings.home
    files = [*home.glob("anyshot.sqlite3*"), *home.glob("mail/*.eml"), *home.glob("secret-key")]
    for path in (home, home / "mail", home / "uploads", home / "blobs"):
        if path.is_dir():
            path.chmod(0o700)
    for path in files:
        path.chmod(0o600)


class Background:
    """The threads that work beside the web service: sweeper, e-mails, webhooks, alerts."""

    def __init__(self, services: Services) -> None:
        self._parts = [
            Sweeper(services),
            *(
                Dispatcher(services.database, name, send, every=2.0)
                for name, send in _senders(services).items()
            ),
        ]

    def __enter__(self) -> Background:
        for part in self._parts:
            part.start()
        return self

    def __exit__(self, *reason: object) -> None:
        for part in self._parts:
            part.stop()


def _senders(services: Services) -> dict[str, Callable[[], object]]:
    return {
        "emails": lambda: send_due_emails(services, say_change),
        "webhooks": lambda: send_due_deliveries(services),
        "alerts": lambda: tell_operators(services),
    }


def _serve_many(
    settings: PlatformSettings, services: Services, *, embedded_worker: bool, sweeper: bool
) -> None:
    port = settings.port or free_port(settings.host)
    # The processes read their settings from the environment; what options and the key file said has to be in it.
    os.environ["ANYSHOT_SECRET_KEY"] = settings.secret_key.get_secret_value()
    os.environ["ANYSHOT_HOME"] = str(settings.home)
    os.environ["ANYSHOT_PORT"] = str(port)
    with _beside(settings, services, lambda: port, embedded_worker, sweeper):
        uvicorn.run(
            "anyshot_platform.server.serving:make_app",
            factory=True,
            host=settings.host,
            port=port,
            workers=settings.web_processes,
            **connection_rules(settings),
        )


def free_port(host: str) -> int:
    """A port that nobody listens on now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as taken:
        return taken.getsockname()[1]


def _port_of(server: uvicorn.Server) -> int | None:
    """The port that the server listens on, once it does."""
    if not server.started:
        return None
    return server.servers[0].sockets[0].getsockname()[1]


def make_embedded_token(services: Services) -> str:
    """A fresh token for the worker that this process starts; those of earlier starts stop working."""
    with services.database.writing() as session:
        for token in session.scalars(
            select(WorkerToken).where(WorkerToken.name == EMBEDDED_TOKEN, WorkerToken.revoked_at.is_(None))
        ):
            token.revoked_at = now()
        return create_worker_token(session, EMBEDDED_TOKEN, reach=Reach(days=None))


class EmbeddedWorker:
    """One worker process, started once the web service listens, and started again if it dies."""

    def __init__(self, settings: PlatformSettings, token: str, port: Callable[[], int | None]) -> None:
        self._settings = settings
        self._token = token
        self._port = port
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._look_after, name="embedded-worker", daemon=True)

    def start(self) -> None:
        """Begin to look after the worker."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the worker to give back what it has and to end."""
        self._stopping.set()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self._process.kill()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _look_after(self) -> None:
        while (port := self._port()) is None:
            if self._stopping.wait(0.1):
                return
        pause = 1.0
        while not self._stopping.is_set():
            started = time.monotonic()
            # The worker's files are read by other users: those of its sandboxes.
            command = [*AS_PROCESS, "worker", "run"]
            self._process = subprocess.Popen(command, env=self._environment(port), umask=0o022)
            self._process.wait()
            if self._stopping.is_set():
                return
            log.error(WORKER_ENDED, extra={"rc": self._process.returncode})
            pause = 1.0 if time.monotonic() - started > 60 else min(pause * 2, 30.0)
            self._stopping.wait(pause)

    def _environment(self, port: int) -> dict[str, str]:
        home = self._settings.home.absolute()
        host = "127.0.0.1" if self._settings.host in ("0.0.0.0", "::") else self._settings.host
        inherited = {key: value for key, value in os.environ.items() if key != "ANYSHOT_SECRET_KEY"}
        return {
            **inherited,
            "ANYSHOT_PLATFORM_URL": f"http://{host}:{port}",
            "ANYSHOT_WORKER_TOKEN": self._token,
            "ANYSHOT_WORKER_NAME": EMBEDDED_TOKEN,
            "ANYSHOT_LOG_FORMAT": self._settings.log_format,
            "ANYSHOT_BROKER_URL": self._settings.broker_url or "filesystem://localhost",
            "ANYSHOT_BROKER_FOLDER": str(home / "broker"),
            "ANYSHOT_WORKSPACE": str(home / "worker" / "workspace"),
        }


def warm_up(app: FastAPI) -> None:
    """Compile all templates, and open the pages at which visitors arrive as one of them, before the process listens.

    Cold, the first page of a kind takes three times as long, and sixteen threads that compile the same template do so
    sixteen times.
    """
    for name in environment().list_templates():
        environment().get_template(name)
    paths = [*START_PAGES, *_newest_pages(app.state.services)]
    with ThreadPoolExecutor(
        1
    ) as thread:  # one of several processes makes its application inside its event loop
        statuses = thread.submit(asyncio.run, _visit(app, paths)).result()
    failed = [path for path, status in zip(paths, statuses, strict=True) if status >= 500]
    if failed:
        log.warning("pages that failed before the process began to serve: %s", ", ".join(failed))


def _newest_pages(services: Services) -> list[str]:
    """Overview and board of the competition that was published last."""
    statement = (
        select(Competition.slug)
        .join(Phase, Phase.competition_id == Competition.id)
        .where(Competition.state == CompetitionState.PUBLISHED)
        .order_by(Competition.id.desc())
        .limit(1)
    )
    with services.database.glancing() as session:
        slugs = session.scalars(statement).all()
    return [f"/competitions/{slug}{page}" for slug in slugs for page in ("", "/leaderboard")]


async def _visit(app: FastAPI, paths: list[str]) -> list[int]:
    transport = ASGITransport(app, raise_app_exceptions=False)
    asked = {"accept": "text/html"}
    async with AsyncClient(transport=transport, base_url="http://localhost", headers=asked) as client:
        return [(await client.get(path)).status_code for path in paths]

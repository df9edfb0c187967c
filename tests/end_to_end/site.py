"""A whole site for the end-to-end tests: server and worker as real processes, spoken to over HTTP."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from anyshot_core.command import AS_PROCESS
from anyshot_platform.app import make_services
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_platform.server.demo.data import DemoData
from anyshot_platform.server.demo.organizer import DemoCompetition, set_the_stage
from anyshot_platform.server.demo.server import (
    Sandbox,
    Server,
    choose_sandbox,
    environment,
    make_settings,
    prepare_sandbox,
    wait_until_healthy,
)
from tests.services.material import TEST, TRAIN
from tests.services.processes import running


def small_data(packs: dict[str, Path]) -> DemoData:
    """The suite's packs as the demo's two sets."""
    sets = {"set-0": tuple(packs[n] for n in TRAIN), "set-1": tuple(packs[n] for n in TEST)}
    return DemoData(sets, generated=True)


def ready_sandbox() -> Sandbox:
    """The sandbox that the demo would choose here, with its image built; skips the test where there is none."""
    sandbox = choose_sandbox()
    if sandbox.name == "trusted":
        pytest.skip("neither Docker nor Bubblewrap is here (Debian: apt-get install docker.io or bubblewrap)")
    prepare_sandbox(sandbox)
    return sandbox


@dataclass(frozen=True)
class Site:
    """A running server with an open competition, and how to give it workers."""

    server: Server
    stage: DemoCompetition
    settings: PlatformSettings
    worker_environment: dict[str, str]

    @contextmanager
    def worker(self, name: str) -> Iterator[subprocess.Popen[bytes]]:
        """A worker process of that name."""
        variables = self.worker_environment | {"ANYSHOT_WORKER_NAME": name}
        with running(
            [*AS_PROCESS, "worker", "run"], self.settings.home / f"{name}.log", env=variables
        ) as process:
            yield process


@contextmanager
def distributed(
    home: Path, packs: dict[str, Path], postgres_url: str, redis_url: str, *, tasks: int, budget: float
) -> Iterator[Site]:
    """PostgreSQL, Redis, a server, and workers that run submissions in Docker; no worker is started yet."""
    base = make_settings(home, None, None)
    settings = base.model_copy(update={"database_url": postgres_url, "broker_url": redis_url})
    services = make_services(settings)
    migrate(services.database)
    stage = set_the_stage(services, small_data(packs), tasks=tasks, budget_seconds=budget)
    with services.database.writing() as session:
        token = create_worker_token(session, "end-to-end")
    services.database.dispose()
    variables = environment(settings, Sandbox("docker", ""))
    variables |= {"ANYSHOT_DATABASE_URL": postgres_url, "ANYSHOT_BROKER_URL": redis_url}
    worker = {n: v for n, v in os.environ.items() if not n.startswith("ANYSHOT_")} | {
        "ANYSHOT_PLATFORM_URL": settings.base_url,
        "ANYSHOT_WORKER_TOKEN": token,
        "ANYSHOT_BROKER_URL": redis_url,
        "ANYSHOT_WORKSPACE": str(home / "workspace"),
        "ANYSHOT_STATE_FOLDER": str(home / "state"),
        "ANYSHOT_SANDBOX": "docker",
        "ANYSHOT_OWNER": f"test-{home.name}",
    }
    with running(
        [*AS_PROCESS, "admin", "serve", "--home", str(home)], home / "server.log", env=variables
    ) as process:
        server = Server(settings.base_url, home / "server.log", process)
        wait_until_healthy(server)
        yield Site(server, stage, settings, worker)

"""A distributed site, from its settings to its processes; what the benchmarks of workers and of chaos begin with."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from anyshot_platform.foundation.migration import migrate
from anyshot_platform.foundation.services import Services
from benchmarks.chaos import machines
from benchmarks.chaos.stage import make_stage, make_tokens, services_of
from benchmarks.servers import Postgres


@dataclass(frozen=True)
class Place:
    """Broker, web service and workers, none of them started; the database runs, and the stage is set in it."""

    services: Services
    client: httpx.Client  # of the only participant
    address: str
    broker: machines.Process
    broker_url: str
    web: machines.Process
    workers: list[machines.Process]


@contextmanager
def distributed_site(
    home: Path,
    database: Postgres,
    *,
    workers: int,
    sandbox: str = "docker",
    docker_host: str | None = None,
    **settings: str,
) -> Iterator[Place]:
    """A site in `home`, with `ANYSHOT_...` settings; whatever was started of it is stopped at the end."""
    broker, broker_url = machines.redis(home)
    environment = machines.platform_settings(home / "site", database, broker_url) | settings
    address = environment["ANYSHOT_BASE_URL"]
    services = services_of(environment)
    migrate(services.database)
    make_stage(services, home)
    token, worker_token = make_tokens(services)
    client = httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=30)
    web = machines.web(home, environment)
    made = [
        machines.worker(home, f"worker{number}", environment, worker_token, sandbox, docker_host)
        for number in range(workers)
    ]
    try:
        yield Place(services, client, address, broker, broker_url, web, made)
    finally:
        for process in (*made, web, broker):
            process.stop()
        client.close()
        services.database.dispose()

"""The real platform and real workers in one process: what one says, the other one reads.

Submissions run as child processes (the trusted sandbox), seconds each. Nothing here writes a row or a message that
platform and worker write themselves; only the competition is made by hand, as an organizer's form would make it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
from fastapi.testclient import TestClient

from anyshot_core.wire.jobs import read_assignment
from anyshot_core.wire.worker_api import WorkerInfo
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.service import add_pack, create_pool, create_pool_version
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_worker.attempt import Site as WorkerSite
from anyshot_worker.claiming import RunClaimer, announce
from anyshot_worker.client import WorkerClient
from anyshot_worker.sandbox import Sandboxes
from anyshot_worker.workspace import Workspace
from tests.contract.recording import Recorder
from tests.platform.site import Person, Site
from tests.services.material import BASELINES, TEST, TRAIN, zip_folder

TASKS = 6
PROTOCOL: dict[str, Any] = {"name": "any_way_any_shot", "ways": [2, 5], "shots": [1, 3], "query": 10}


class Wire(httpx.BaseTransport):
    """Hands a worker's requests to the platform's application; `exchanges` remembers what was said."""

    def __init__(self, app: TestClient, recorder: Recorder | None = None) -> None:
        self._app, self._recorder = app, recorder
        self.exchanges: list[tuple[httpx.Request, httpx.Response]] = []
        self.jobs: list[Any] = []  # that were handed out, in their order

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        content = request.read()
        answer = self._app.request(
            request.method, str(request.url), headers=list(request.headers.items()), content=content
        )
        headers = [(name, text) for name, text in answer.headers.items() if name != "content-encoding"]
        response = httpx.Response(answer.status_code, headers=headers, content=answer.content)
        self.exchanges.append((request, response))
        if request.url.path.endswith("/claim") and answer.status_code == 200:
            self.jobs.append(read_assignment(answer.content))
        if self._recorder is not None:
            path = request.url.path
            self._recorder.hear(request.method, path, content, answer.status_code, answer.content)
        return response


@dataclass
class RealWorker:
    """A worker as its process is put together, its requests handed to the platform's application."""

    site: WorkerSite
    desk: RunClaimer
    wire: Wire
    announced: WorkerInfo

    @property
    def client(self) -> WorkerClient:
        return self.site.client

    def work(self) -> None:
        """Carry out runs until there is none left for this worker."""
        self.desk.work()


class Stage:
    """A site with real datasets, its people, and workers."""

    def __init__(
        self,
        services: Services,
        packs: dict[str, Path],
        sandboxes: Sandboxes,
        folder: Path,
        recorder: Recorder | None = None,
    ) -> None:
        self.recorder = recorder
        self.site, self.packs, self.sandboxes, self.folder = Site(services), packs, sandboxes, folder

    def __enter__(self) -> Stage:
        # On a busy machine a beat is late; the runs that are lost here are lost on purpose.
        services = self.site.services
        settings = services.settings.model_copy(update={"lease_seconds": 600.0})
        object.__setattr__(services, "settings", settings)
        self.site.__enter__()
        self.pools = {name: self.make_pool(name, names) for name, names in (("train", TRAIN), ("test", TEST))}
        self.site.set_version(
            meta_train_pool_version_id=self.pools["train"],
            meta_test_pool_version_id=self.pools["test"],
            protocol=PROTOCOL,
            tasks=TASKS,
            run_seconds=60.0,
        )
        self.site.set_phase(smoke_tasks=2, quota_day=100, quota_concurrent=100, tasks_visible=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.site.__exit__(kind, error, trace)

    def make_pool(self, slug: str, names: tuple[str, ...]) -> str:
        """A pool of these packs; returns the id of its version."""
        services = self.site.services
        rows = [add_pack(services, self.packs[name]) for name in names]
        with services.database.writing() as session:
            pool = create_pool(session, slug=slug, name=slug, owner_id=self.site.owner_id)
            return create_pool_version(session, pool, rows, created_by=self.site.owner_id).id

    def worker(self, name: str = "real", wire: Wire | None = None) -> RealWorker:
        """A worker with a token of its own; another `wire` may change what is said."""
        with self.site.services.database.writing() as session:
            token = create_worker_token(session, name)
        wire = wire or Wire(self.site.client, self.recorder)
        client = WorkerClient("http://testserver", token, patience=5.0, transport=wire)
        workspace = Workspace(self.folder / name, 1 << 30, client)
        site = WorkerSite(name, client, workspace, self.sandboxes, threading.Event())
        said = announce(name, "cpu", self.sandboxes)
        return RealWorker(site, RunClaimer(site, said, slots=1, poll_seconds=60), wire, said)

    def baseline(self, name: str) -> bytes:
        """A baseline's zip."""
        return zip_folder(BASELINES / name, self.folder / f"{name}.zip").read_bytes()

    def shown(self, person: Person, submission_id: str) -> dict[str, Any]:
        """A submission as its owner's API shows it."""
        answer = person.call("GET", f"/api/v1/submissions/{submission_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def page(self, path: str, person: Person | None = None) -> str:
        """A page as a visitor's browser, or this person's, gets it."""
        headers = {"authorization": f"Bearer {person.token}"} if person else {}
        answer = self.site.client.get(path, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.text

    def phase(self) -> Phase:
        """The phase as it is now."""
        with self.site.services.database.reading() as session:
            return session.get_one(Phase, self.site.phase_id)

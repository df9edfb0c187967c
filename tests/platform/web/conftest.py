"""A site that serves real browsers, with the scene on it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from selenium import webdriver

from anyshot_platform.accounts.service import begin_session
from anyshot_platform.app import create_app, make_services
from anyshot_platform.leaderboards.memo import forget_all
from anyshot_platform.services import Services
from anyshot_platform.users.models import User
from anyshot_platform.web.viewer import SESSION_COOKIE
from tests.platform.conftest import make_settings
from tests.platform.web.scene import Scene, make_scene
from tests.services.processes import free_port
from tests.services.sites import served


@dataclass(frozen=True)
class LiveSite:
    """A running server; `scene` holds the rows as they were made."""

    address: str
    services: Services
    scene: Scene

    def sign_in(self, browser: webdriver.Chrome, user: User) -> None:
        """Give the browser a session of the user, without the log-in form."""
        with self.services.database.writing() as session:
            secret = begin_session(session, user, user_agent="test", days=1).secret
        browser.get(f"{self.address}/health")
        browser.add_cookie({"name": SESSION_COOKIE, "value": secret, "path": "/"})

    def path(self, name: str) -> str:
        """The page of one of the scene's submissions."""
        return f"{self.address}/submissions/{self.scene.submissions[name].id}"


@pytest.fixture(autouse=True)
def _no_finding_of_another_copy() -> None:
    """Each test has a copy of one scene, and so the same ids."""
    forget_all()


@pytest.fixture(scope="session")
def made_scene(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> tuple[Path, Scene]:
    """The scene in a folder of its own, to be copied: making it takes seconds, copying none."""
    home = tmp_path_factory.mktemp("scene")
    shutil.copy(migrated_sqlite, home / "anyshot.sqlite3")
    services = make_services(make_settings(home))
    with services.database.writing() as session:
        scene = make_scene(session, services.storage)
    with services.database.engine.connect() as connection:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    services.database.dispose()
    return home, scene


@pytest.fixture
def scene_services(tmp_path: Path, made_scene: tuple[Path, Scene]) -> Iterator[Services]:
    """Services on a fresh copy of the scene; its port is free."""
    home = tmp_path / "home"
    shutil.copytree(made_scene[0], home)
    port = free_port()
    services = make_services(make_settings(home, base_url=f"http://127.0.0.1:{port}", port=port))
    yield services
    services.database.dispose()


@pytest.fixture
def live(scene_services: Services, made_scene: tuple[Path, Scene]) -> Iterator[LiveSite]:
    """The scene, served."""
    settings = scene_services.settings
    with served(create_app(settings, scene_services), settings.port):
        yield LiveSite(settings.base_url, scene_services, made_scene[1])


@dataclass
class Visitor:
    """Somebody with a browser that has no scripts."""

    client: TestClient
    services: Services

    def sign_in(self, user: User) -> None:
        """Take a session of the user."""
        with self.services.database.writing() as session:
            secret = begin_session(session, user, user_agent="test", days=1).secret
        self.client.cookies.set(SESSION_COOKIE, secret)

    def see(self, path: str, status: int = 200) -> str:
        """The text of a page."""
        answer = self.client.get(path, headers={"accept": "text/html"})
        assert answer.status_code == status, f"{path}: {answer.status_code}"
        return answer.text

    def send(self, page: str, action: str, status: int = 303, **fields: str | list[str]) -> Response:
        """Fill in the form of a page that leads to `action`, and send it with the page's token."""
        token = re.search(r'name="csrf-token" content="([^"]+)"', self.see(page))
        assert token is not None
        answer = self.client.post(
            action,
            data={"csrf_token": token[1], **fields},
            headers={"accept": "text/html"},
            follow_redirects=False,
        )
        assert answer.status_code == status, f"{action}: {answer.status_code} {answer.text[:500]}"
        return answer


@pytest.fixture
def visitor(scene_services: Services) -> Iterator[Visitor]:
    """A visitor of the scene, not signed in."""
    app = create_app(scene_services.settings, scene_services)
    with TestClient(app, base_url=scene_services.settings.base_url) as client:
        yield Visitor(client, scene_services)


@pytest.fixture
def scene(made_scene: tuple[Path, Scene]) -> Scene:
    """What is on the site."""
    return made_scene[1]

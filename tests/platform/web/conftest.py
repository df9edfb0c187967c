"""A site that serves real browsers, with the scene on it."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from selenium import webdriver

from anyshot_platform.app import make_services
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from anyshot_platform.standings.leaderboards.memo import forget_all
from tests.platform.conftest import Databases, make_settings
from tests.platform.site import in_one_line, the_app
from tests.platform.web.scene import Scene, make_scene
from tests.services.databases import PostgresServer, postgres_database
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


@dataclass(frozen=True)
class MadeScene:
    """The scene as it is copied for each test: making it takes seconds, copying none."""

    home: Path
    template: str
    scene: Scene


@pytest.fixture(scope="session")
def scene_on_sqlite(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> MadeScene:
    """The scene in a file."""
    home, template = tmp_path_factory.mktemp("scene"), tmp_path_factory.mktemp("template") / "scene.sqlite3"
    shutil.copy(migrated_sqlite, template)
    services = make_services(make_settings(home, database_url=f"sqlite:///{template}"))
    with services.database.writing() as session:
        scene = make_scene(session, services.storage)
    with services.database.engine.connect() as connection:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    services.database.dispose()
    return MadeScene(home, str(template), scene)


@pytest.fixture(scope="session")
def scene_on_postgres(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, migrated_postgres: str
) -> Iterator[MadeScene]:
    """The scene in a database of the run's server."""
    home = tmp_path_factory.mktemp("scene")
    with postgres_database(postgres_server, migrated_postgres) as url:
        services = make_services(make_settings(home, database_url=url))
        with services.database.writing() as session:
            scene = make_scene(session, services.storage)
        services.database.dispose()
        yield MadeScene(home, url.rsplit("/", 1)[1], scene)


@pytest.fixture
def made_scene(request: pytest.FixtureRequest, database_kind: str) -> MadeScene:
    """The scene in the test's kind of database."""
    return request.getfixturevalue(f"scene_on_{database_kind}")


@pytest.fixture
def scene_services(tmp_path: Path, databases: Databases, made_scene: MadeScene) -> Services:
    """Services on a fresh copy of the scene; its port is free."""
    home, port = tmp_path / "home", free_port()
    shutil.copytree(made_scene.home, home)
    return databases.services(home, made_scene.template, base_url=f"http://127.0.0.1:{port}", port=port)


@pytest.fixture
def live(scene_services: Services, made_scene: MadeScene) -> Iterator[LiveSite]:
    """The scene, served."""
    settings = scene_services.settings
    with served(the_app(scene_services), settings.port):
        yield LiveSite(settings.base_url, scene_services, made_scene.scene)


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
        """The text of a page, its sentences in one line each: templates break them."""
        answer = self.client.get(path, headers={"accept": "text/html"})
        assert answer.status_code == status, f"{path}: {answer.status_code}"
        return in_one_line(answer.text)

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
    with TestClient(the_app(scene_services), base_url=scene_services.settings.base_url) as client:
        yield Visitor(client, scene_services)


@pytest.fixture
def scene(made_scene: MadeScene) -> Scene:
    """What is on the site."""
    return made_scene.scene

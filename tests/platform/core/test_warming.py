"""A process is warm before it listens: the first crowd waits for nothing to be compiled."""

import asyncio
import logging
from typing import Any

import jinja2
import pytest
from fastapi import FastAPI
from fastapi.responses import Response
from fastapi.testclient import TestClient

from anyshot_platform.server.serving import make_app, warm_up
from anyshot_platform.site.web.rendering import environment
from tests.platform.conftest import SECRET
from tests.platform.site import SLUG, Site
from tests.platform.statements import statements

ARRIVAL = ("/", "/competitions", f"/competitions/{SLUG}", f"/competitions/{SLUG}/leaderboard")


@pytest.mark.seconds("compiles all templates")
def test_a_process_that_begins_to_serve_compiles_no_template_for_its_visitors(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = site.services.settings
    for name, value in {
        "SECRET_KEY": SECRET,
        "HOME": settings.home,
        "DATABASE_URL": settings.database_address,
    }.items():
        monkeypatch.setenv(f"ANYSHOT_{name}", str(value))
    environment.cache_clear()
    app = asyncio.run(_inside_a_loop())
    compiled = _count(monkeypatch, jinja2.Environment, "compile")
    client = TestClient(app)
    for path in ARRIVAL:
        assert client.get(path, headers={"accept": "text/html"}).status_code == 200
    assert compiled == []
    app.state.services.database.dispose()


async def _inside_a_loop() -> FastAPI:
    return make_app()  # as Uvicorn calls it in each of several processes


def test_its_database_has_seen_the_pages_at_which_visitors_arrive(site: Site) -> None:
    with statements(site.services.database) as asked:
        warm_up(site.app)
        new = asked.copy()
        asked.clear()
        for path in ARRIVAL:
            site.client.get(path, headers={"accept": "text/html"})
    pages = set(asked)
    assert pages
    assert pages <= set(new)


def test_a_page_that_fails_is_logged_and_keeps_nobody_from_serving(
    site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Response:
        raise RuntimeError("a fault")

    # The sites of a process share one application: the route goes with the test.
    monkeypatch.setattr(site.app.router, "routes", [*site.app.router.routes])
    site.app.add_api_route("/broken", fail, include_in_schema=False)
    monkeypatch.setattr("anyshot_platform.server.serving.START_PAGES", ("/broken", "/competitions"))
    with caplog.at_level(logging.WARNING, "anyshot_platform.server.serving"):
        warm_up(site.app)
    told = [
        record.getMessage() for record in caplog.records if record.name == "anyshot_platform.server.serving"
    ]
    assert told == ["pages that failed before the process began to serve: /broken"]


def _count(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[tuple[object, ...]]:
    calls: list[tuple[object, ...]] = []
    whole = getattr(owner, name)

    def counted(*given: Any, **named: Any) -> Any:
        calls.append(given)
        return whole(*given, **named)

    monkeypatch.setattr(owner, name, counted)
    return calls

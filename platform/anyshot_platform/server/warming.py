"""What a process does before it listens: a crowd that finds it cold waits for templates and statements to be compiled.

Cold, the first page of a kind takes three times as long, and sixteen threads that compile the same template do so
sixteen times.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from sqlalchemy import select

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.services import Services
from anyshot_platform.site.web.rendering import environment

log = logging.getLogger(__name__)
START_PAGES = ("/", "/competitions")


def warm_up(app: FastAPI) -> None:
    """Compile all templates, and open the pages at which visitors arrive as one of them."""
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

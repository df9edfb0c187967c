"""The app factory of the web service."""

import pkgutil
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.routing import Match
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from anyshot_core import browser_charts
from anyshot_platform import site
from anyshot_platform.foundation.background.dispatch import Dispatcher
from anyshot_platform.foundation.background.doorbell import Doorbell
from anyshot_platform.foundation.background.loops import Loop
from anyshot_platform.foundation.background.outbox import send_due_rings
from anyshot_platform.foundation.database import Database
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.foundation.signing import Signer
from anyshot_platform.foundation.storage import FolderStorage, Storage
from anyshot_platform.judging.workers.images import GONE_KEY
from anyshot_platform.running.budgets.holding import hold_totals
from anyshot_platform.running.operations.watch import watch_downtime, watch_loops
from anyshot_platform.running.subscribers import list_subscribers
from anyshot_platform.site.budgets.routes import meet_budgets
from anyshot_platform.site.shell.act_routes import acts_of
from anyshot_platform.site.web.access import refuse_open_routes
from anyshot_platform.site.web.admission import RequestAdmission
from anyshot_platform.site.web.bodies import Bodies
from anyshot_platform.site.web.csrf import guard_csrf
from anyshot_platform.site.web.failures import DECLARED, install_error_handlers
from anyshot_platform.site.web.headers import AnswerHead, ResponseHeaders
from anyshot_platform.site.web.rendering import STATIC_FOLDER
from anyshot_platform.site.web.tickets import Places
from anyshot_platform.site.web.viewer import refuse_writing_while_looking
from anyshot_platform.standings.leaderboards.precomputation import BoardsReady

# Sent as they are: packed already, or large files that programs fetch.
_NOT_COMPRESSED = (
    *DEFAULT_EXCLUDED_CONTENT_TYPES,
    "application/octet-stream",
    "application/vnd.apache.parquet",
)
_GROUP_NAME = re.compile(r"\?P<\w+>")


def make_services(settings: PlatformSettings) -> Services:
    """All that a process needs, from its settings; the database is opened at first use."""
    storage = _make_storage(settings)
    services = Services(
        settings=settings,
        database=Database(
            settings.database_address,
            pool_size=settings.database_pool_size,
            subscribers=list_subscribers(storage, settings.base_url),
            storage=storage,
            facts={GONE_KEY: settings.worker_gone_seconds},
        ),
        storage=storage,
        signer=Signer(settings.secret_key.get_secret_value()),
    )
    hold_totals(services)
    return services


def create_app(settings: PlatformSettings, services: Services | None = None) -> FastAPI:
    """The web service, with every feature's `api` and `pages` router.

    Raises `RuntimeError` if a route has no access policy.
    """
    services = services or make_services(settings)
    app = FastAPI(
        title="Anyshot",
        summary="Code-submission competitions in few-shot and meta-learning",
        version="1",
        lifespan=_live,
        responses=DECLARED,
        dependencies=[Depends(guard_csrf), Depends(refuse_writing_while_looking), Depends(meet_budgets)],
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.services = services
    install_error_handlers(app)
    charts = (browser_charts.__name__, "static")
    app.mount("/static", StaticFiles(directory=STATIC_FOLDER, packages=[charts]), name="static")
    routers = list(feature_routers())
    routes = [route for router in routers for route in router.routes]
    app.state.acts, app.state.admin_acts = acts_of(routes), acts_of(routes, "/api/v1/admin")
    for router in routers:
        refuse_open_routes(router.routes)
        _match_at_once(router)
        app.include_router(router)
    app.add_middleware(Bodies, services=lambda: app.state.services, settings=settings)
    app.add_middleware(ResponseHeaders, https=settings.cookies_over_https_only)
    app.add_middleware(GZipMiddleware, compresslevel=6, exclude_content_types=_NOT_COMPRESSED)
    app.add_middleware(AnswerHead)
    app.add_middleware(
        RequestAdmission,
        at_once=min(settings.web_requests_at_once, settings.database_pool_size),
        queue=settings.web_queue,
        wait=settings.web_wait_seconds,
        services=lambda: app.state.services,
    )
    app.add_middleware(Places, services=lambda: app.state.services)  # the last one is the first to be asked
    return app


@asynccontextmanager
async def _live(app: FastAPI) -> AsyncIterator[None]:
    """What runs as long as the process serves: threads that ring for queued runs and look after the other threads."""
    services: Services = app.state.services
    doorbell = Doorbell(services.settings)
    began = time.monotonic()
    loops = (
        Dispatcher(services.database, "doorbell", lambda: send_due_rings(services.database, doorbell)),
        Loop(services.database, "models", BoardsReady(services.database, services.storage), every=2.0),
        Loop(services.database, "watch", lambda: _watch(services, began), every=15.0),
    )
    for loop in loops:
        loop.start()
    yield
    for loop in loops:
        loop.stop()
    doorbell.close()
    services.database.dispose()


def _watch(services: Services, began: float) -> None:
    with services.database.writing() as session:
        watch_downtime(session)
        if time.monotonic() - began >= services.settings.alert_loop_seconds:  # its processes have started
            watch_loops(session, services.settings)


def feature_routers() -> Iterator[APIRouter]:
    """The `router` of each module `api`, `pages`, `*_api` and `*_pages` of the site, in alphabetical order."""
    for module in pkgutil.walk_packages(site.__path__, f"{site.__name__}."):
        name = module.name.rpartition(".")[2]
        if name in ("api", "pages") or name.endswith(("_api", "_pages")):
            yield import_module(module.name).router


def _make_storage(settings: PlatformSettings) -> Storage:
    """The storage that the settings ask for; connects to nothing yet."""
    if settings.storage == "folder":
        return FolderStorage(settings.blob_folder)
    # boto3, which only this needs, takes more than half a second.
    from anyshot_platform.foundation.artifacts.s3 import S3Storage

    # The settings checked it.
    assert settings.s3_access_key is not None and settings.s3_secret_key is not None
    return S3Storage(
        bucket=settings.s3_bucket,
        endpoint=settings.s3_endpoint,
        public_endpoint=settings.s3_public_endpoint,
        region=settings.s3_region,
        access_key=settings.s3_access_key,
        secret_key=settings.s3_secret_key.get_secret_value(),
    )


def _match_at_once(router: APIRouter) -> None:
    """Let a router see by one regular expression that a path is none of its own.

    Otherwise each request tries the routes of all features one by one, which took a sixth of the time of a page.
    """
    routes = [route for route in router.routes if isinstance(route, APIRoute)]
    if not routes or len(routes) != len(router.routes):
        return
    patterns = (_GROUP_NAME.sub("?:", route.path_regex.pattern) for route in routes)
    own = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    setattr(router, "matches", partial(_match, router, own))  # noqa: B010 - a method of this router alone


def _match(router: APIRouter, own: re.Pattern[str], scope: Scope) -> tuple[Match, Scope]:
    if not scope.get("root_path") and own.match(scope["path"]) is None:
        return Match.NONE, {}
    return APIRouter.matches(router, scope)

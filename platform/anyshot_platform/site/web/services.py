"""What one web process owns, as dependencies of endpoints: its services, its settings, a session for a request."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from anyshot_platform.foundation.database import Database
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import PlatformSettings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


# What does not wait for anything is `async`: FastAPI hands every other dependency to a thread, which costs more.
async def get_services(request: Request) -> Services:
    """The process's services."""
    return request.app.state.services


def site_address(request: Request) -> str:
    """The address at which browsers reach the site, without a slash at its end."""
    services: Services = request.app.state.services
    return services.settings.base_url


async def get_session(
    request: Request, services: Annotated[Services, Depends(get_services)]
) -> AsyncIterator[Session]:
    """One request, one transaction: committed before the response is sent, rolled back by an exception.

    Requests by safe methods get a session that waits for no writer and refuses to write: state never changes by GET.
    It is `request.state.session` while it lasts, for what is read beside the endpoint: two connections for one request
    would let requests wait for one another.
    """
    database = services.database
    if request.method in SAFE_METHODS:
        session = request.state.session = database.glance_session()
        session.info["asked_by"] = request.state
        try:
            yield session
        finally:
            request.state.session = None
            session.close()
        return
    session = database.write_session()
    session.info["asked_by"] = request.state
    try:
        yield session
        await run_in_threadpool(_commit, database, session)
    finally:
        await run_in_threadpool(session.close)


def _commit(database: Database, session: Session) -> None:
    session.commit()
    database.committed(session)


async def get_settings(services: Annotated[Services, Depends(get_services)]) -> PlatformSettings:
    """The settings."""
    return services.settings


ServicesDep = Annotated[Services, Depends(get_services)]
SettingsDep = Annotated[PlatformSettings, Depends(get_settings)]
# scope="function": the commit happens before the response leaves, so a failed one cannot answer 200.
SessionDep = Annotated[Session, Depends(get_session, scope="function")]

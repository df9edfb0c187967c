"""Health, readiness and metrics, for machines."""

import hmac
import ipaddress

from fastapi import APIRouter, Depends, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy.orm import Session
from starlette.responses import JSONResponse, Response

from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.metrics import REGISTRY
from anyshot_platform.running.operations.figures import collect_figures
from anyshot_platform.running.operations.health import check_readiness
from anyshot_platform.site.web.access import policy, public
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(tags=["operations"])


@policy("metrics")
def metrics_reader(request: Request, services: ServicesDep) -> None:
    """Policy: those who know the metrics token; without one, processes on this machine that come past no proxy."""
    token = services.settings.metrics_token
    if token is not None:
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        if hmac.compare_digest(sent.encode(), token.get_secret_value().encode()):
            return
    elif "x-forwarded-for" not in request.headers and _is_loopback(request):
        return
    raise NotFound("There is no such page.")


def _is_loopback(request: Request) -> bool:
    try:
        return ipaddress.ip_address(request.client.host if request.client else "").is_loopback
    except ValueError:
        return False


@router.get("/health", dependencies=[Depends(public)])
def health() -> dict[str, str]:
    """Answer that the process lives; asks no database."""
    return {"status": "ok"}


@router.get("/ready", dependencies=[Depends(public)], responses={503: {"description": "Not ready."}})
def ready(services: ServicesDep) -> JSONResponse:
    """The process can serve: database and storage answer, the schema is the newest."""
    found = check_readiness(services)
    status = "ok" if found.ok else "not ready"
    return JSONResponse({"status": status, **found.parts}, status_code=200 if found.ok else 503)


@router.get("/metrics", dependencies=[Depends(metrics_reader)], include_in_schema=False)
def metrics(session: SessionDep) -> Response:
    """Prometheus metrics: this process's, and the site's figures out of the database."""
    return Response(render_metrics(session), media_type=CONTENT_TYPE_LATEST)


def render_metrics(session: Session) -> bytes:
    """All metrics in Prometheus's text format."""
    return generate_latest(REGISTRY) + generate_latest(collect_figures(session))

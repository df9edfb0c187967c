"""Machines ask here to become workers, before they have any token: `anyshot worker join`."""

from fastapi import APIRouter, Depends, Request

from anyshot_core.wire.joining import JOIN_PATH, JoinCodes, JoinRequest, JoinToken, TokenRequest
from anyshot_platform.judging.workers.requests import LASTS, collect_token, open_request
from anyshot_platform.people.accounts.limiting import client_address
from anyshot_platform.people.rate_limits.service import spend
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.services import ServicesDep, site_address

router = APIRouter(prefix=JOIN_PATH, tags=["workers"], dependencies=[Depends(public)])


@router.post("", status_code=201)
def ask_to_join(request: Request, body: JoinRequest, services: ServicesDep) -> JoinCodes:
    """Codes for a machine: an administrator enters `user_code`, the machine asks with `device_code` for its token."""
    spend(services, "worker_requests", client_address(request))
    with services.database.writing() as session:
        asking, device_code = open_request(session, body.worker)
        page = f"{site_address(request)}/admin"
        return JoinCodes(
            device_code=device_code,
            user_code=asking.code,
            verification_uri=f"{page}/workers",
            verification_uri_complete=f"{page}/worker-requests?code={asking.code}",
            expires_in=LASTS.seconds,
            interval=asking.interval,
        )


@router.post("/token", responses={400: {"description": "None, or none yet: `error` says why (RFC 8628)."}})
def send_token(body: TokenRequest, services: ServicesDep) -> JoinToken:
    """The token, once, after an administrator let the machine in."""
    return JoinToken(access_token=collect_token(services, body.device_code))

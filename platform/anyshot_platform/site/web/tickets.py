"""A hand-in that is refused for load keeps its place: it is given a ticket, and sends it again as a cookie."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.signing import Signer, digest_secret
from anyshot_platform.judging.submissions.arrivals import PLACE_KEPT, Arrival
from anyshot_platform.site.web.viewer import SESSION_COOKIE

COOKIE = "anyshot_place"
_HAND_INS = re.compile(
    r"POST /api/v1/uploads|PUT /api/v1/uploads/[^/]+"
    r"|POST /api/v1/competitions/[^/]+/phases/[^/]+/submissions|POST /competitions/[^/]+/phases/[^/]+/submit"
)


def keeps_place(scope: Scope) -> bool:
    """Whether the request is a step of handing in."""
    return _HAND_INS.fullmatch(f"{scope['method']} {scope['path']}") is not None


class Places:
    """Plain ASGI, the outermost: notes when a request arrives, and gives a hand-in that is answered 503 a ticket."""

    def __init__(self, app: ASGIApp, *, services: Callable[[], Services]) -> None:
        self.app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})["arrived_at"] = now()
            if keeps_place(scope):
                send = _giving_ticket(scope, send, self._services())
        await self.app(scope, receive, send)


def _giving_ticket(scope: Scope, send: Send, services: Services) -> Send:
    """`send`, which gives a request that is refused for load a ticket, unless it has one, and takes a used one away."""
    request = Request(scope)
    arrival = read_arrival(request, services.signer)

    async def send_with_ticket(message: Message) -> None:
        if message["type"] == "http.response.start":
            response, refused = Response(), message["status"] == 503
            secure = services.settings.cookies_over_https_only
            if refused and arrival.refused_at is None and (who := _who(request)):
                value = _ticket(services.signer, who, arrival.moment)
                age = int(PLACE_KEPT.total_seconds())
                response.set_cookie(COOKIE, value, max_age=age, httponly=True, secure=secure, samesite="lax")
            elif message["status"] < 400 and COOKIE in request.cookies:
                response.delete_cookie(COOKIE, httponly=True, secure=secure, samesite="lax")
            cookies = [pair for pair in response.raw_headers if pair[0] == b"set-cookie"]
            message = {**message, "headers": [*message["headers"], *cookies]}
        await send(message)

    return send_with_ticket


def read_arrival(request: Request, signer: Signer) -> Arrival:
    """When the request arrived, and what its ticket says, if it is its sender's own and not too old."""
    moment: datetime = getattr(request.state, "arrived_at", None) or now()
    ticket, who = request.cookies.get(COOKIE, ""), _who(request)
    text, _, signature = ticket.partition(".")
    if not who or not text.isdecimal() or not signer.verify("place", f"{text} {who}", signature):
        return Arrival(moment)
    refused_at = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(text))
    return Arrival(moment, refused_at, signature) if moment - refused_at <= PLACE_KEPT else Arrival(moment)


def _ticket(signer: Signer, who: str, moment: datetime) -> str:
    text = str((moment - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1))
    return f"{text}.{signer.sign('place', f'{text} {who}')}"


def _who(request: Request) -> str:
    """The token or session of a request: nobody uses another one's ticket. Empty for one that is not signed in."""
    secret = request.headers.get("authorization") or request.cookies.get(SESSION_COOKIE)
    return digest_secret(secret) if secret else ""


async def find_arrival(request: Request) -> Arrival:
    """When the request arrived, with its ticket."""
    services: Services = request.app.state.services
    return read_arrival(request, services.signer)


ArrivalDep = Annotated[Arrival, Depends(find_arrival)]

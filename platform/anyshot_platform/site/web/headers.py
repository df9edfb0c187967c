"""Headers of every response, and the id and log line of every request."""

import logging
import secrets
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anyshot_platform.foundation.logs import request_id
from anyshot_platform.foundation.metrics import REQUEST_SECONDS

log = logging.getLogger("anyshot.request")
SECURITY_HEADERS = {
    # Charts are SVG with style attributes, hence 'unsafe-inline' for styles; scripts come from our files only.
    "content-security-policy": "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class ResponseHeaders:
    """Plain ASGI, so that streams pass through untouched."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self.app = app
        self.headers = dict(SECURITY_HEADERS)
        if https:
            self.headers["strict-transport-security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        identity = secrets.token_hex(8)
        mark = request_id.set(identity)
        started = time.perf_counter()
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
                headers["x-request-id"] = identity
                if not scope["path"].startswith("/static/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "unmatched")
            REQUEST_SECONDS.labels(scope["method"], route, str(status // 100) + "xx").observe(seconds)
            log.debug(
                "%s %s %s",
                scope["method"],
                scope["path"],
                status,
                extra={"route": route, "status": status, "seconds": round(seconds, 4)},
            )
            request_id.reset(mark)


class AnswerHead:
    """Answers HEAD like GET; the server sends no body. Streams have no end, so they stay with GET."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD" and not scope["path"].endswith("/stream"):
            scope = {**scope, "method": "GET"}
        await self.app(scope, receive, send)

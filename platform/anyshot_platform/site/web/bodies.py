"""How large a request's body may be, who may send a large one, and how long one may take.

Small bodies are read whole before anything else happens: a slow visitor holds neither a thread nor a connection.
What is beyond `ANYBODY` bytes is read of those alone who are signed in. Files pass through in pieces, counted.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anyshot_platform.contest.competitions.files import MOST_BYTES, MOST_IN_ALL
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.foundation.filters import duration
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.site.web.services import SAFE_METHODS
from anyshot_platform.site.web.viewer import find_viewer

# How OpenAPI describes a request whose body is a file.
BODY_OF_BYTES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

ANYBODY = 64 << 10  # bytes that anyone may send
FORM = 2 << 20
MACHINE = 16 << 20  # a worker's batch of log lines, a summary
WITH_TEXTS = 1 << 20  # JSON that carries pages and terms
BUNDLE = MOST_IN_ALL + (28 << 20)  # its files, its pages and the code of its baselines
MULTIPART_EXTRA = 1 << 20  # the other fields of a form that carries a file
HELD_AT_ONCE = 96 << 20  # bytes of small bodies in memory, of all visitors together
_WHOLE_BODY = 30.0  # seconds for a body that is read whole
_NEXT_PIECE = 30.0  # seconds for the next piece of a file


@dataclass(frozen=True)
class BodyLimit:
    """The largest body of a route, and whether it is a file that passes through in pieces."""

    most: int
    file: bool = False


class BodyRefused(PlatformError):
    """A body that is not read on."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class BodyLimits:
    """The largest body of every route."""

    def __init__(self, settings: PlatformSettings) -> None:
        zipped, packed = (
            settings.upload_max_bytes + MULTIPART_EXTRA,
            settings.pack_max_bytes + MULTIPART_EXTRA,
        )
        rules = {
            r"PUT /api/v1/uploads/[^/]+": BodyLimit(settings.upload_max_bytes, file=True),
            r"PUT /api/v1/pools/[^/]+/packs": BodyLimit(settings.pack_max_bytes, file=True),
            r"PUT /api/worker/v1/runs/[^/]+/artifacts/.+": BodyLimit(settings.artifact_max_bytes, file=True),
            r"POST /competitions/[^/]+/phases/[^/]+/submit": BodyLimit(zipped, file=True),
            r"POST /competitions/[^/]+/manage/(baselines|settings)": BodyLimit(zipped, file=True),
            r"POST /competitions/[^/]+/manage/files": BodyLimit(MOST_BYTES + MULTIPART_EXTRA, file=True),
            r"(PUT /api/v1/bundles|POST /organize/import)": BodyLimit(BUNDLE, file=True),
            r"POST /organize/pools/[^/]+/packs": BodyLimit(packed, file=True),
            r"[A-Z]+ /api/worker/.*": BodyLimit(MACHINE),
            r"[A-Z]+ /api/v1/competitions/[^/]+/manage/.*": BodyLimit(WITH_TEXTS),
        }
        self._rules = [(re.compile(pattern), limit) for pattern, limit in rules.items()]

    def of(self, method: str, path: str, content_type: str) -> BodyLimit:
        """The limit of a request."""
        for pattern, limit in self._rules:
            if pattern.fullmatch(f"{method} {path}"):
                return limit
        is_form = content_type.startswith(("application/x-www-form-urlencoded", "multipart/form-data"))
        return BodyLimit(FORM if is_form and not path.startswith("/api/") else ANYBODY)


class Bodies:
    """Plain ASGI: reads, counts and refuses bodies."""

    def __init__(self, app: ASGIApp, *, services: Callable[[], Services], settings: PlatformSettings) -> None:
        self.app = app
        self._services = services
        self._limits = BodyLimits(settings)
        self._held = 0  # bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        limit = self._limits.of(scope["method"], scope["path"], headers.get("content-type", ""))
        body = Body(limit, receive, lambda: self._is_known(scope))
        size = announced(headers)
        try:
            await body.require_room(size)
            if limit.file:
                await body.require_known()
                await self.app(scope, body.next_piece, send)
            else:
                await self._pass_whole(scope, body, send, size or limit.most)
        except BodyRefused as refusal:
            await _refuse(scope, receive, send, refusal)

    async def _pass_whole(self, scope: Scope, body: Body, send: Send, most: int) -> None:
        if self._held + most > HELD_AT_ONCE:
            raise BodyRefused(
                503, "busy", "The site takes in too much just now. Please try again in a moment."
            )
        self._held += most
        try:
            await body.read_whole()
            await self.app(scope, body.replay, send)
        finally:
            self._held -= most

    async def _is_known(self, scope: Scope) -> bool:
        """Whether the one who sends is signed in, with a cookie or token of this site, or is a worker."""
        return await run_in_threadpool(_is_known, Request(scope), self._services())


def _is_known(request: Request, services: Services) -> bool:
    from anyshot_platform.site.web.access import worker_token

    try:
        if request.url.path.startswith("/api/worker/"):
            return bool(worker_token(request, services))
        return find_viewer(request, services).is_signed_in
    except PlatformError:
        return False


def announced(headers: Headers) -> int:
    """The length that the headers announce; 0 where they do not."""
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0


class Body:
    """The body of one request."""

    def __init__(self, limit: BodyLimit, receive: Receive, is_known: Callable[[], Awaitable[bool]]) -> None:
        self.limit = limit
        self._receive = receive
        self._is_known = is_known
        self._known = False
        self._size = 0
        self._over = False
        self._whole: Message | None = None

    async def require_room(self, size: int) -> None:
        """Raise `BodyRefused` if so many bytes are too many, or are too many of someone unknown."""
        if size > self.limit.most:
            words = f"This takes at most {_in_words(self.limit.most)}."
            raise BodyRefused(413, "too_large", words)
        if size > ANYBODY:
            await self.require_known()

    async def require_known(self) -> None:
        """Raise `BodyRefused` unless the sender is signed in."""
        if not self._known and not await self._is_known():
            words = f"Please log in before you send more than {_in_words(ANYBODY)}."
            raise BodyRefused(401, "not_signed_in", words)
        self._known = True

    async def read_whole(self) -> None:
        """Read all of it; raises `BodyRefused`."""
        try:
            async with asyncio.timeout(_WHOLE_BODY):
                pieces = [piece async for piece in self._pieces()]
        except TimeoutError:
            words = f"The request did not arrive within {duration(_WHOLE_BODY)}."
            raise BodyRefused(408, "too_slow", words) from None
        body = b"".join(pieces)
        self._whole = {"type": "http.request", "body": body, "more_body": False}

    async def _pieces(self) -> AsyncIterator[bytes]:
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                raise BodyRefused(400, "incomplete", "The connection ended before the request did.")
            yield await self._count(message)
            if not message.get("more_body", False):
                return

    async def _count(self, message: Message) -> bytes:
        piece: bytes = message.get("body", b"")
        self._size += len(piece)
        await self.require_room(self._size)
        return piece

    async def replay(self) -> Message:
        """What was read, then what the server says."""
        if self._whole is not None:
            message, self._whole = self._whole, None
            return message
        return await self._receive()

    async def next_piece(self) -> Message:
        """The next piece of a file; raises `BodyRefused` if it is too large or does not come."""
        try:
            message = await asyncio.wait_for(self._receive(), _NEXT_PIECE if not self._over else None)
        except TimeoutError:
            words = f"Nothing more arrived for {duration(_NEXT_PIECE)}."
            raise BodyRefused(408, "too_slow", words) from None
        if message["type"] == "http.request":
            await self._count(message)
            self._over = not message.get("more_body", False)
        return message


def _in_words(size: int) -> str:
    number, unit = (size >> 20, "MiB") if size >= 1 << 20 else (size >> 10, "KiB")
    return f"{number} {unit}"


async def _refuse(scope: Scope, receive: Receive, send: Send, refusal: BodyRefused) -> None:
    """Answer, and let the server close the connection: the rest of the body is not read."""
    headers = {"connection": "close"}
    if refusal.status == 503:
        headers["retry-after"] = "2"
    words = str(refusal.message)
    response: Response = PlainTextResponse(words, refusal.status, headers)
    if scope["path"].startswith("/api/"):
        content = {"error": refusal.code, "message": words}
        response = JSONResponse(content, refusal.status, headers)
    await response(scope, receive, send)

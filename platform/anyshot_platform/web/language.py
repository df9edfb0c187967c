"""Which language a page is in: the account's choice, else the browser's cookie, else what the browser asks for."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from anyshot_platform.kernel.language import ENGLISH, Reader, asked_for, read_by, read_in
from anyshot_platform.settings import PlatformSettings
from anyshot_platform.users.viewer import Viewer

LANGUAGE_COOKIE = "anyshot_language"
SHOWN_TO_PEOPLE = "x-shown-to-people"


class ReadersLanguage:
    """Says for each request who reads its answer. Below /api programs read, and programs read English.

    A script that shows people what it is answered says so by the header `X-Shown-To-People`.
    """

    def __init__(self, app: ASGIApp, *, settings: PlatformSettings) -> None:
        self.app = app
        self.offered = settings.offered_languages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with read_by(Reader(self._language(scope))):
            await self.app(scope, receive, send)

    def _language(self, scope: Scope) -> str:
        headers = Headers(scope=scope)
        if for_programs(scope["path"], headers):
            return ENGLISH
        chosen = cookie_parser(headers.get("cookie", "")).get(LANGUAGE_COOKIE, "")
        if chosen in self.offered:
            return chosen
        return asked_for(headers.get("accept-language", ""), self.offered) or self.offered[0]


def for_programs(path: str, headers: Headers) -> bool:
    """Whether programs read what is at this address."""
    page = not path.startswith("/api/") or path.startswith("/api/docs")
    return not page and SHOWN_TO_PEOPLE not in headers


def follow_account(path: str, headers: Headers, viewer: Viewer, offered: tuple[str, ...]) -> None:
    """From here on the page is in the language that the account chose, if it chose one that the site offers."""
    if viewer.language in offered and not for_programs(path, headers):
        read_in(viewer.language)

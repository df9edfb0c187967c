"""Pages out of templates: the Jinja environment, rendering, redirects with a message."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from anyshot_core import browser_charts
from anyshot_platform.contest.phases.status_words import status_words
from anyshot_platform.foundation.filters import FILTERS
from anyshot_platform.foundation.identicons import identicon
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.judging.visibility.standing import standing_of
from anyshot_platform.people.alerts.titles import title_of
from anyshot_platform.site.web.csrf import set_csrf_cookie
from anyshot_platform.site.web.formulas import with_formulas
from anyshot_platform.site.web.frame import FLASH_COOKIE, frame, pack_flash
from anyshot_platform.site.web.markdown import markdown

_PACKAGE = Path(__file__).resolve().parents[2]
STATIC_FOLDER = _PACKAGE / "static"
STATIC_FOLDERS = (STATIC_FOLDER, browser_charts.FOLDER)  # of the site, and of charts, which reports draw too
TEMPLATE_FOLDER = _PACKAGE / "templates"


@cache
def _digest(path: str) -> str:
    found = next(folder / path for folder in STATIC_FOLDERS if (folder / path).is_file())
    return hashlib.sha256(found.read_bytes()).hexdigest()[:10]


def static(path: str, versioned: bool = True) -> str:
    """The address of a file below static/; its digest lets browsers keep it for good."""
    return f"/static/{path}?v={_digest(path)}" if versioned else f"/static/{path}"


class _MayBeAsked(StrictUndefined):
    """Strict when printed or looked into; false when asked whether it is there."""

    def __bool__(self) -> bool:
        return False


@cache
def environment() -> Environment:
    """The one template environment of the process; printing a name that a page forgot is an error."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATE_FOLDER),
        autoescape=select_autoescape(default=True),
        undefined=_MayBeAsked,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        FILTERS,
        markdown=markdown,
        formulas=with_formulas,
        standing=standing_of,
        publication=publication_of,
        status_words=status_words,
        alert_title=title_of,
    )
    made.globals.update(static=static, identicon=identicon)
    return made


def wants_html(request: Request) -> bool:
    """Whether a person's browser asks: never below /api, else where it accepts HTML."""
    path = request.url.path
    return not path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


def redirect(url: str, *, flash: str = "", tone: str = "good") -> RedirectResponse:
    """See other: the answer to a form that was carried out; the next page shows `flash` once."""
    response = RedirectResponse(url, status_code=303)
    if flash:
        response.set_cookie(
            FLASH_COOKIE,
            pack_flash(tone, flash),
            max_age=60,
            httponly=True,
            samesite="lax",
            path="/",
        )
    return response


def render(
    request: Request,
    template: str,
    *,
    status_code: int = 200,
    headers: dict[str, str] | None = None,
    **context: Any,
) -> HTMLResponse:
    """The page as a response, the frame's context below the given one."""
    around = frame(request)
    text = environment().get_template(template).render({**around, **context})
    response = HTMLResponse(text, status_code=status_code, headers=headers)
    services = getattr(request.app.state, "services", None)
    response.headers.add_vary_header("Cookie")
    if services is not None:
        set_csrf_cookie(request, response, services)
    if around["flashes"]:
        response.delete_cookie(FLASH_COOKIE, path="/")
    elif around["viewer"] is None and request.method == "GET" and status_code == 200:
        # Asked for again each time, but a browser may go back to it: nothing on it is anybody's own.
        response.headers.setdefault("cache-control", "private, no-cache")
    return response

"""What the frame of every page shows: who is signed in, messages, banners."""

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.workers.unconfined import unconfined_worker
from anyshot_platform.people.notifications.service import count_unread
from anyshot_platform.people.users.viewer import NOBODY, Viewer
from anyshot_platform.site.web.csrf import csrf_token
from anyshot_platform.site.web.gaps import GAPS
from anyshot_platform.site.web.viewer import get_viewer

FLASH_COOKIE = "anyshot_flash"
SITE_PAGES = {"Privacy": "/privacy", "Imprint": "/imprint", "Contact": "/contact"}
_TONES = ("good", "warn", "bad", "info")
_LONGEST_FLASH = 2000


@dataclass(frozen=True)
class Flash:
    """A message that is shown once, on the page after a redirect."""

    tone: str
    text: str


def pack_flash(tone: str, text: str) -> str:
    """A flash as the value of a cookie."""
    return base64.urlsafe_b64encode(json.dumps([tone, text[:500]]).encode()).decode()


def _read_flashes(request: Request) -> tuple[Flash, ...]:
    cookie = request.cookies.get(FLASH_COOKIE, "")
    if not cookie or len(cookie) > _LONGEST_FLASH:
        return ()
    try:
        tone, text = json.loads(base64.urlsafe_b64decode(cookie))
    except (ValueError, TypeError, binascii.Error):
        return ()
    return (Flash(tone if tone in _TONES else "info", str(text)),)


def query_href(request: Request, name: str) -> Callable[[object], str]:
    """A function value -> this page's address with the query parameter `name` set to the value."""

    def href(value: object) -> str:
        dropped = {name, "page"} if name == "sort" else {name}
        keep = [(key, text) for key, text in request.query_params.multi_items() if key not in dropped]
        return f"{request.url.path}?{urlencode([*keep, (name, str(value))])}"

    return href


def _who(request: Request, services: Services | None) -> Viewer:
    known = getattr(request.state, "viewer", None)
    if known is not None or services is None:
        return known or NOBODY
    try:
        return get_viewer(request, services)
    except PlatformError:
        return NOBODY


@dataclass(frozen=True)
class Banner:
    """A line above every page."""

    tone: str
    text: str
    href: str = ""


UNCONFINED = Banner(
    "bad",
    "Submissions run here without a sandbox: for code that the operator trusts, and for no other.",
    "/docs/operators/sandbox/",
)


def _read_state(request: Request, viewer: Viewer, services: Services | None) -> dict[str, Any]:
    """What has to be looked up for every page, in one statement."""
    if services is None:
        return {"unread": "", "banners": ()}
    statement = select(count_unread(viewer.user_id), unconfined_worker())
    open_session: Session | None = getattr(request.state, "session", None)
    if open_session is not None:
        count, unconfined = open_session.execute(statement).one()
    else:
        with services.database.glancing() as session:
            count, unconfined = session.execute(statement).one()
    bare = unconfined or services.settings.trusted_digests is not None
    return {"unread": unread_words(count), "banners": (UNCONFINED,) if bare else ()}


def unread_words(count: int) -> str:
    """How many notifications are unread, in the room of a small disc; nothing for none."""
    return "99+" if count > 99 else str(count or "")


def _named(viewer: Viewer) -> Viewer:
    return replace(viewer, display_name=GAPS.text("name")) if viewer.cohort else viewer


def _token(request: Request, viewer: Viewer, services: Services | None) -> str:
    """The token of the page's forms; visitors of a page for many get none, since it has no form of theirs."""
    if viewer.cohort is not None:
        return GAPS.text("csrf")
    return csrf_token(request, services) if services else ""


def frame(request: Request) -> dict[str, Any]:
    """The context that `base.html` needs and every page may use."""
    services: Services | None = getattr(request.app.state, "services", None)
    viewer = _who(request, services)
    return {
        "request": request,
        "site_name": services.settings.site_name if services else "Anyshot",
        "site_address": services.settings.base_url if services else "",
        "footer_links": {**SITE_PAGES, **(services.settings.footer_links if services else {})},
        "viewer": _named(viewer) if viewer.is_signed_in else None,
        "look": viewer.look,
        "gaps": GAPS if viewer.cohort else None,
        "csrf_token": _token(request, viewer, services),
        "flashes": _read_flashes(request),
        **_read_state(request, viewer, services),
        "errors": {},
        "values": {},
        "section": "",
        "page_class": "",
        "page_href": query_href(request, "page"),
        "sort_href": query_href(request, "sort"),
    }

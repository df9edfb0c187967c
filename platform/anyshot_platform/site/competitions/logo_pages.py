"""The logo of a competition, and what browsers and crawlers ask every site for."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.responses import FileResponse, PlainTextResponse
from starlette.responses import Response

from anyshot_platform.contest.competitions.files import find_file, is_image, media_type
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.web.access import public, visible_competition
from anyshot_platform.site.web.files import BINARY, HARMLESS, send_stored
from anyshot_platform.site.web.rendering import STATIC_FOLDER
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
_FOR_A_DAY = {"cache-control": "public, max-age=86400"}
_ROBOTS = "User-agent: *\nDisallow: /api/\nDisallow: /admin\nDisallow: /organize\nDisallow: /submissions\n"


@router.get("/competitions/{slug}/logo")
def show_logo(
    access: Annotated[CompetitionAccess, Depends(visible_competition)], services: ServicesDep, v: str = ""
) -> Response:
    """The picture itself. With its digest in the address it may be kept for good."""
    digest = access.competition.logo_digest
    if digest is None:
        raise NotFound("This competition has no logo.")
    kind = access.competition.logo_media_type or BINARY
    return send_stored(services, digest, None, kind, _headers(digest, v), from_here=True)


@router.get("/competitions/{slug}/files/{name}")
def show_file(
    access: Annotated[CompetitionAccess, Depends(visible_competition)],
    session: SessionDep,
    services: ServicesDep,
    name: Annotated[str, Path(max_length=100)],
    v: str = "",
) -> Response:
    """An image of a page, or another file to be downloaded; for whoever may see the competition."""
    row = find_file(session, access.competition, name)
    shown = None if is_image(name) else name
    kind = media_type(name) or BINARY
    return send_stored(services, row.digest, shown, kind, _headers(row.digest, v), from_here=shown is None)


def _headers(digest: str, asked: str) -> dict[str, str]:
    """Of a file of somebody else's making; one that is asked for by its digest may be kept for good."""
    named = bool(asked) and digest.startswith(asked)
    return {
        "content-security-policy": HARMLESS,
        "x-content-type-options": "nosniff",
        "cache-control": "private, max-age=31536000, immutable" if named else "private, no-cache",
    }


@router.get("/favicon.ico", dependencies=[Depends(public)])
def show_icon() -> Response:
    """The site's mark, for browsers that ask without reading the page."""
    return FileResponse(STATIC_FOLDER / "img" / "favicon.ico", media_type="image/x-icon", headers=_FOR_A_DAY)


@router.get("/apple-touch-icon.png", dependencies=[Depends(public)])
def show_touch_icon() -> Response:
    """The same for the home screens of phones."""
    return FileResponse(STATIC_FOLDER / "img" / "touch-icon.png", media_type="image/png", headers=_FOR_A_DAY)


@router.get("/robots.txt", dependencies=[Depends(public)])
def show_robots() -> Response:
    """What crawlers may read: the public pages."""
    return PlainTextResponse(_ROBOTS, headers=_FOR_A_DAY)

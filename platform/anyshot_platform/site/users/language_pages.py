"""The menu of languages at the foot of each page."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form
from starlette.responses import Response

from anyshot_platform.site.users.api import check_language
from anyshot_platform.site.users.pages import safe_next
from anyshot_platform.users.models import User
from anyshot_platform.web.access import public
from anyshot_platform.web.language import LANGUAGE_COOKIE
from anyshot_platform.web.rendering import redirect
from anyshot_platform.web.services import ServicesDep
from anyshot_platform.web.viewer import ViewerDep

router = APIRouter(include_in_schema=False)
_YEAR = 365 * 24 * 3600


@router.post("/language", dependencies=[Depends(public)])
def choose_language(
    services: ServicesDep,
    viewer: ViewerDep,
    language: Annotated[str, Form(max_length=16)],
    next: Annotated[str, Form(max_length=2000)] = "/",
) -> Response:
    """Show pages in that language from now on: to this browser, and wherever the account is signed in."""
    offered = services.settings.offered_languages
    check_language(language or "-", offered)
    if viewer.is_signed_in:
        with services.database.writing() as session:
            session.get_one(User, viewer.id).language = language
    response = redirect(safe_next(next))
    response.set_cookie(
        LANGUAGE_COOKIE,
        language,
        max_age=_YEAR,
        httponly=True,
        samesite="lax",
        secure=services.settings.cookies_over_https_only,
        path="/",
    )
    return response

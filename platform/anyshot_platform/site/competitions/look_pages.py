"""Organizers look at their competition as somebody else would."""

from fastapi import APIRouter, Depends
from starlette.responses import Response

from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.site.shell.manage_frame import AsReviewer
from anyshot_platform.site.web.access import SlugParam, public
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect
from anyshot_platform.site.web.services import ServicesDep
from anyshot_platform.site.web.viewer import LOOK_COOKIE, LOOKS

router = APIRouter(prefix="/competitions/{slug}/manage/look", include_in_schema=False)
_SECONDS = 3600


@router.post("")
def look(access: AsReviewer, services: ServicesDep, form: FormDep) -> Response:
    """Show all pages, for an hour at most, as a participant or a visitor sees them."""
    role = form.text("as")
    if role not in LOOKS:
        raise Invalid(f"Choose one of {', '.join(LOOKS)}.", field="as")
    slug = access.competition.slug
    response = redirect(f"/competitions/{slug}")
    secure = services.settings.cookies_over_https_only
    response.set_cookie(
        LOOK_COOKIE,
        f"{role}:{slug}",
        max_age=_SECONDS,
        httponly=True,
        samesite="lax",
        secure=secure,
        path="/",
    )
    return response


@router.post("/end", dependencies=[Depends(public)])
def end_look(slug: SlugParam) -> Response:
    """Be an organizer again: take the cookie away, whoever asks."""
    response = redirect(f"/competitions/{slug}/manage")
    response.delete_cookie(LOOK_COOKIE, path="/")
    return response

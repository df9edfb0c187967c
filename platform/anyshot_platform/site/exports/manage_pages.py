"""The organizers' page of exports, and the files."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.tables import MEDIA, Form
from anyshot_platform.running.exports.archive import make_archive
from anyshot_platform.running.exports.tables import table_of
from anyshot_platform.site.shell.manage_frame import AsReviewer, render_manage
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/exports", include_in_schema=False)


@router.get("")
def show_exports(request: Request, access: AsReviewer, session: SessionDep) -> Response:
    """What can be taken away."""
    return render_manage(
        request,
        session,
        access,
        "exports.html",
        "exports",
        heading="Exports",
        forms_of=[form.value for form in Form],
    )


@router.get("/archive.zip")
def download_archive(access: AsReviewer, session: SessionDep, services: ServicesDep) -> Response:
    """Everything in one zip."""
    content = make_archive(session, services.storage, access.competition, services.settings.base_url)
    return _file(content, "application/zip", f"{access.competition.slug}-archive.zip")


@router.get("/{name}.{form}")
def download_table(
    access: AsReviewer, session: SessionDep, services: ServicesDep, name: str, form: str
) -> Response:
    """One table."""
    if form not in set(Form):
        raise NotFound("There is no such form.")
    content = table_of(session, services.storage, access.competition, name, Form(form))
    return _file(content, MEDIA[Form(form)], f"{access.competition.slug}-{name}.{form}")


def _file(content: bytes, media_type: str, name: str) -> Response:
    return Response(
        content, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )

"""The archive of a competition over JSON, for what is made of it by command."""

from fastapi import APIRouter
from starlette.responses import Response

from anyshot_platform.running.exports.archive import make_archive
from anyshot_platform.site.shell.manage_frame import AsReviewer
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/exports", tags=["organizing: exports"])


@router.get("/archive.zip", response_class=Response, responses={200: {"content": {"application/zip": {}}}})
def download_archive(access: AsReviewer, session: SessionDep, services: ServicesDep) -> Response:
    """Submissions, boards, further evaluations and the results of every task: the page *Exports* in one zip."""
    content = make_archive(session, services.storage, access.competition, services.settings.base_url)
    name = f"{access.competition.slug}-archive.zip"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="application/zip", headers=headers)

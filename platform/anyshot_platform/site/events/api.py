"""The live stream of a submission."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import StreamingResponse

from anyshot_platform.foundation.numbers import line_id
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.run_logs.watching import watching_of
from anyshot_platform.judging.visibility.access import SubmissionAccess, find_submission_access
from anyshot_platform.site.events.stream import StreamState, look, stream
from anyshot_platform.site.web.access import submission_reader
from anyshot_platform.site.web.services import ServicesDep
from anyshot_platform.site.web.viewer import ViewerDep, get_viewer

router = APIRouter(prefix="/api/v1", tags=["submissions"])


@router.get("/submissions/{submission_id}/stream", response_class=StreamingResponse)
async def watch(
    request: Request,
    found: Annotated[SubmissionAccess, Depends(submission_reader)],
    viewer: ViewerDep,
    services: ServicesDep,
    after: Annotated[int, Query(ge=0, lt=2**62, description="Id of the last log line seen.")] = 0,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> StreamingResponse:
    """Server-sent events: `state` (JSON object) when it changes, `log` (list of [id, at, stream, stage, text]), `end`.

    A browser that lost the connection resumes by itself with `Last-Event-ID`; nothing is sent twice or left out.
    """
    resume = line_id(last_event_id) or after
    watching = watching_of(services)
    watching.require_room(viewer.id)
    looking = partial(_look, request, services, found.submission.id)
    events = stream(request, watching, found.submission.id, viewer.id, looking, resume)
    return StreamingResponse(
        events,
        media_type="text/event-stream",
        headers={"x-accel-buffering": "no", "cache-control": "no-store"},
    )


def _look(request: Request, services: Services, submission_id: str, after: int) -> StreamState:
    """What there is after a line, if the one who asked may still read it; raises `PlatformError`."""
    viewer = get_viewer(request, services)
    with services.database.reading() as session:
        return look(session, find_submission_access(session, viewer, submission_id).sight, after)

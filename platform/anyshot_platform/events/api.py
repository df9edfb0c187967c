"""The live stream of a submission."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import StreamingResponse

from anyshot_platform.events.stream import stream
from anyshot_platform.submissions.views import log_policy_for
from anyshot_platform.web.access import SubmissionAccess, submission_reader
from anyshot_platform.web.services import ServicesDep

router = APIRouter(prefix="/api/v1", tags=["submissions"])


@router.get("/submissions/{submission_id}/stream", response_class=StreamingResponse)
def watch(
    request: Request,
    found: Annotated[SubmissionAccess, Depends(submission_reader)],
    services: ServicesDep,
    after: Annotated[int, Query(ge=0, lt=2**62, description="Id of the last log line seen.")] = 0,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> StreamingResponse:
    """Server-sent events: `state` (JSON object) when it changes, `log` (list of [id, at, stream, stage, text]), `end`.

    A browser that lost the connection resumes by itself with `Last-Event-ID`; nothing is sent twice or left out.
    """
    resume = int(last_event_id) if last_event_id and last_event_id.isdecimal() else after
    events = stream(request, services, found.submission.id, log_policy_for(found), min(resume, 2**62))
    return StreamingResponse(
        events,
        media_type="text/event-stream",
        headers={"x-accel-buffering": "no", "cache-control": "no-store"},
    )

"""The live stream of the submission page: state and log over server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Annotated, Any

import anyio
from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import StreamingResponse

from anyshot_platform.errors import PlatformError
from anyshot_platform.events.service import read_events
from anyshot_platform.submissions.show import find_version, read_runs, stream_state
from anyshot_platform.submissions.views import log_policy_for
from anyshot_platform.web.access import find_submission_access, submission_reader
from anyshot_platform.web.rendering import environment
from anyshot_platform.web.services import Services, ServicesDep
from anyshot_platform.web.viewer import Viewer, ViewerDep

router = APIRouter(include_in_schema=False)
POLL_SECONDS = 0.1  # while lines come: with the worker's interval, a line is on the page within half a second
QUIET_POLL_SECONDS = 0.25  # else, so that many who wait cost little; the first line is as quick
LIVELY_SECONDS = 3.0  # after a line, more are expected for so long
BATCH = 2000  # lines in one message
KEEP_ALIVE_SECONDS = 15.0
LONGEST_SECONDS = (
    3600.0  # then the browser connects again by itself, and its right to read is looked at again
)


@router.get("/submissions/{submission_id}/stream", dependencies=[Depends(submission_reader)])
def stream_submission(
    request: Request,
    submission_id: str,
    viewer: ViewerDep,
    services: ServicesDep,
    after: Annotated[int, Query(ge=0)] = 0,
    last_event_id: Annotated[str, Header(max_length=20)] = "",
) -> StreamingResponse:
    """Events `state` and `log`; the id of each is the last log line that was sent."""
    start = int(last_event_id) if last_event_id.isdigit() else after
    events = follow(request, services, viewer, submission_id, start)
    return StreamingResponse(
        events,
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def follow(
    request: Request, services: Services, viewer: Viewer, submission_id: str, after: int
) -> AsyncIterator[str]:
    """The events until the submission has ended and all its lines are sent, or the browser has gone."""
    sent: dict[str, Any] = {}
    began = quiet_since = anyio.current_time()
    lively_until = 0.0
    while not await request.is_disconnected():
        try:
            state, lines = await to_thread.run_sync(_look, services, viewer, submission_id, after)
        except PlatformError:
            return
        if lines:
            after = lines[-1][0]
            yield _event("log", [line[1:] for line in lines], after)
        if state != sent and not (state["ended"] and len(lines) == BATCH):
            sent = state
            yield _event("state", state, after)
        if state["ended"] and len(lines) < BATCH:
            return
        moment = anyio.current_time()
        if lines:
            lively_until = moment + LIVELY_SECONDS
        if lines or state is sent:
            quiet_since = moment
        elif moment - quiet_since > KEEP_ALIVE_SECONDS:
            quiet_since = moment
            yield ": still here\n\n"
        if moment - began > LONGEST_SECONDS:
            return
        if len(lines) < BATCH:
            await anyio.sleep(POLL_SECONDS if moment < lively_until else QUIET_POLL_SECONDS)


def _event(name: str, data: object, identity: int) -> str:
    return f"event: {name}\nid: {identity}\ndata: {json.dumps(data)}\n\n"


def _look(
    services: Services, viewer: Viewer, submission_id: str, after: int
) -> tuple[dict[str, Any], list[tuple[int, str, str]]]:
    """The state, and the lines after an id. State first: what ended before had written all its lines."""
    with services.database.reading() as session:
        found = find_submission_access(session, viewer, submission_id)
        version = find_version(session, found.submission)
        runs = read_runs(session, found.submission, version)
        state = stream_state(session, found.submission, runs, version)
        state["badge"] = _badge(state["state"])
        events = read_events(
            session, [run.id for run in runs], policy=log_policy_for(found), after=after, limit=BATCH
        )
        return state, [(event.id, event.stream, event.text) for event in events]


@lru_cache(maxsize=32)
def _badge(state: str) -> str:
    """The badge as HTML, by the same macro as the page's."""
    return str(environment().get_template("components/ui.html").make_module().state_badge(state))  # pyright: ignore[reportAttributeAccessIssue]

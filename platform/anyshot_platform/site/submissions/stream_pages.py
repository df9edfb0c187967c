"""The live stream of the submission page: state and log over server-sent events."""

import json
from collections.abc import AsyncIterator
from functools import lru_cache, partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import StreamingResponse

from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.foundation.numbers import line_id
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.run_logs.service import read_events
from anyshot_platform.judging.run_logs.watching import changes, watching_of
from anyshot_platform.judging.visibility.access import find_submission_access
from anyshot_platform.site.submissions.log_view import stream_lines
from anyshot_platform.site.submissions.run_charts import stream_measures
from anyshot_platform.site.submissions.show import find_version, read_runs, stream_state
from anyshot_platform.site.web.access import submission_reader
from anyshot_platform.site.web.rendering import environment
from anyshot_platform.site.web.services import ServicesDep
from anyshot_platform.site.web.viewer import ViewerDep, get_viewer

router = APIRouter(include_in_schema=False)
BATCH = 2000  # lines in one message


@router.get("/submissions/{submission_id}/stream", dependencies=[Depends(submission_reader)])
async def stream_submission(
    request: Request,
    submission_id: str,
    viewer: ViewerDep,
    services: ServicesDep,
    after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    measured: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    last_event_id: Annotated[str, Header(max_length=20)] = "",
) -> StreamingResponse:
    """Events `state`, `log` and `measures`; the id of each is the last log line that was sent."""
    watching_of(services).require_room(viewer.id)
    events = follow(request, services, submission_id, viewer.id, line_id(last_event_id) or after, measured)
    return StreamingResponse(
        events,
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def follow(
    request: Request, services: Services, submission_id: str, user_id: str, after: int, measured: int = 0
) -> AsyncIterator[str]:
    """The events until the submission has ended and all its lines are sent, or the browser has gone."""
    sent: dict[str, Any] = {}
    watching = watching_of(services)
    look = partial(_look, request, services, submission_id)
    async for changed in changes(request, watching, submission_id, user_id, partial(look, 2**62)):
        if not changed:
            yield ": still here\n\n"
        full = changed
        while full:
            try:
                state, ids, log, (points, measured) = await watching.look(look, after, measured)
            except PlatformError:
                return
            full = len(ids) == BATCH
            if ids:
                after = ids[-1]
                yield _event("log", log, after)
            if points["points"]:
                yield _event("measures", points, after)
            if state != sent and not (state["ended"] and full):
                sent = state
                yield _event("state", state, after)
            if state["ended"] and not full:
                return


def _event(name: str, data: object, identity: int) -> str:
    return f"event: {name}\nid: {identity}\ndata: {json.dumps(data)}\n\n"


def _look(
    request: Request, services: Services, submission_id: str, after: int, measured: int = 0
) -> tuple[dict[str, Any], list[int], dict[str, Any], tuple[dict[str, Any], int]]:
    """The state, the lines after an id by their ids and in full, and the points of charts after another.

    State first: what ended before had written all its lines.

    Raises a `PlatformError` when the viewer has signed out or may no longer read.
    """
    viewer = get_viewer(request, services)
    with services.database.reading() as session:
        found = find_submission_access(session, viewer, submission_id)
        version = find_version(session, found.submission)
        runs = read_runs(session, found.submission, version)
        state = stream_state(session, found.sight, runs)
        for told in (state, *state["runs"]):
            told["badge"] = _badge(told["state"])
        lines = read_events(
            session, [run.id for run in runs], policy=found.sight.logs, after=after, limit=BATCH
        )
        log, measures = stream_lines(session, lines, runs), stream_measures(session, found, runs, measured)
        return state, [line.id for line in lines], log, measures


@lru_cache(maxsize=64)
def _badge(state: str) -> str:
    """The badge as HTML, by the macro of the page."""
    return str(environment().get_template("components/ui.html").make_module().state_badge(state))  # pyright: ignore[reportAttributeAccessIssue]

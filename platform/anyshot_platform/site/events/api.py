"""Server-sent events: one submission's state and log, live, resumable by the last id seen.

A stream looks at the database only when `judging.run_logs.watching` says that its submission changed.
"""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import StreamingResponse

from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.foundation.numbers import line_id
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution.kinds import kind_of
from anyshot_platform.judging.execution.service import list_runs
from anyshot_platform.judging.run_logs.models import RunEvent
from anyshot_platform.judging.run_logs.service import read_events
from anyshot_platform.judging.run_logs.watching import Watching, changes, watching_of
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED
from anyshot_platform.judging.visibility.access import SubmissionAccess, find_submission_access
from anyshot_platform.judging.visibility.submissions import Sight
from anyshot_platform.judging.workers.places import find_place
from anyshot_platform.site.web.access import submission_reader
from anyshot_platform.site.web.services import ServicesDep
from anyshot_platform.site.web.viewer import ViewerDep, get_viewer

router = APIRouter(prefix="/api/v1", tags=["submissions"])
_BATCH = 500


@dataclass(frozen=True)
class _StreamState:
    """What one look at the database found."""

    state: dict[str, object]
    ended: bool
    lines: list[RunEvent]


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
    events = _stream(request, watching, found.submission.id, viewer.id, looking, resume)
    return StreamingResponse(
        events,
        media_type="text/event-stream",
        headers={"x-accel-buffering": "no", "cache-control": "no-store"},
    )


def _look(request: Request, services: Services, submission_id: str, after: int) -> _StreamState:
    """The state and the log lines after an id, if the one who asked may still read them; raises `PlatformError`."""
    viewer = get_viewer(request, services)
    with services.database.reading() as session:
        sight = find_submission_access(session, viewer, submission_id).sight
        version = sight.submission.phase.live_version
        runs = [run for run in list_runs(session, sight.submission) if run.phase_version.number == version]
        newest = max((run.generation for run in runs), default=0)
        current = [run for run in runs if run.generation == newest]
        ids = [run.id for run in current]
        lines = read_events(session, ids, policy=sight.logs, after=after, limit=_BATCH)
        state = _describe(session, sight, current)
        return _StreamState(state, all(run.state in ENDED for run in current), lines)


def _describe(session: Session, sight: Sight, runs: list[Run]) -> dict[str, object]:
    """The state of a submission for the page: overall, and of each run."""
    submission = sight.submission
    places = [place for run in runs if (place := find_place(session, run)) is not None]
    first = min(places, key=lambda place: place.ahead, default=None)
    return {
        "status": submission.status.value,
        "verdict": submission.verdict.value if submission.verdict else None,
        "queue_place": first.ahead if first else None,
        "workers": first.workers if first else None,
        "expected_start": first.expected.model_dump(mode="json") if first and first.expected else None,
        "tasks_done": sum(run.tasks_done for run in runs),
        "tasks_total": sum(run.tasks_total for run in runs),
        "seconds_used": round(sum(run.seconds_used for run in runs), 1),
        "budget_seconds": sum(kind_of(run).seconds(run) for run in runs if _has_budget(run)),
        "runs": [
            {
                "id": run.id,
                "state": run.state.value,
                "attempt": run.attempt,
                "seed_index": run.seed_index,
                "shard_index": run.shard_index,
                "tasks_done": run.tasks_done,
                "tasks_total": run.tasks_total,
                "seconds_used": round(run.seconds_used, 1),
                "budget_seconds": kind_of(run).seconds(run),
                "message": sight.fault(run).message or sight.progress(run),
                "cancelling": run.cancel_requested_at is not None and run.state not in ENDED,
            }
            for run in runs
        ],
    }


async def _stream(
    request: Request,
    watching: Watching,
    submission_id: str,
    user_id: str,
    look: Callable[[int], _StreamState],
    after: int,
) -> AsyncIterator[str]:
    """The events of a submission until it ends and its log is through, or the browser leaves.

    `look` gives the state and the lines after an id; it raises a `PlatformError` once the viewer may no longer read.
    """
    last_state: dict[str, object] | None = None
    yield "retry: 1000\n\n"
    may_read = partial(look, 2**62)
    async for changed in changes(request, watching, submission_id, user_id, may_read):
        if not changed:
            yield ": still here\n\n"
        full = changed
        while full:
            try:
                found = await watching.look(look, after)
            except PlatformError:
                return
            full = len(found.lines) == _BATCH
            if found.lines:
                after = found.lines[-1].id
                yield _format("log", [_line(line) for line in found.lines], identity=after)
            if found.state != last_state:
                last_state = found.state
                yield _format("state", found.state)
            if found.ended and not full:
                yield _format("end", {})
                return


def _has_budget(run: Run) -> bool:
    """Whether the run has a budget of its own; shards have that of the first."""
    return not run.shard_index or kind_of(run).by_dataset(run)


def _line(line: RunEvent) -> list[object]:
    return [line.id, line.at.timestamp(), line.stream, line.stage.value, line.text]


def _format(event: str, data: object, *, identity: int | None = None) -> str:
    head = f"id: {identity}\n" if identity is not None else ""
    return f"{head}event: {event}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"

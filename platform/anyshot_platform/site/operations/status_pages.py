"""Whether the site works, for people: what answers, how many workers, how long the queue is."""

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.running.operations.health import check_readiness
from anyshot_platform.running.operations.overview import read_queues
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
_PARTS = {
    "database": "Pages, submissions and leaderboards",
    "storage": "Uploads and downloads",
    "loops": "E-mails, deadlines and other work in the background",
}


@router.get("/status", dependencies=[Depends(public)])
def show_status(request: Request, services: ServicesDep, session: SessionDep) -> Response:
    """Numbers over the whole site: of no competition, and of no machine."""
    found = check_readiness(services)
    queues = read_queues(session)
    return render(
        request,
        "status.html",
        status_code=200 if found.ok else 503,
        well=found.ok,
        parts=[(label, found.parts[name] == "ok") for name, label in _PARTS.items()],
        workers=sum(queue.workers for queue in queues),
        running=sum(queue.running for queue in queues),
        queued=sum(queue.queued for queue in queues),
        oldest=min((queue.oldest for queue in queues if queue.oldest), default=None),
    )

"""The worker API: HTTP endpoints of `anyshot_core.wire.worker_api`, version 1."""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as PathParam
from starlette.responses import JSONResponse, Response

from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import (
    AskedImage,
    Assignment,
    ClaimRequest,
    Complete,
    Events,
    Fail,
    Heartbeat,
    HeartbeatReply,
    Release,
    Waiting,
)
from anyshot_platform.foundation.artifacts.service import check_signature, keep_file
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.metrics import CLAIM_WAIT, CLAIMS
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution import leases, results
from anyshot_platform.judging.execution.kinds import NotAssignable, make_job
from anyshot_platform.judging.execution.releases import is_too_old, refuse, return_unreadable
from anyshot_platform.judging.execution.scheduling import count_waiting
from anyshot_platform.judging.run_logs.measures import keep_measures
from anyshot_platform.judging.run_logs.service import keep_events
from anyshot_platform.judging.submissions.uploads import TooLarge
from anyshot_platform.judging.workers.images import count_workers
from anyshot_platform.judging.workers.packages import asked_of
from anyshot_platform.site.web.access import WorkerTokenDep, public
from anyshot_platform.site.web.files import send_stored
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/worker/v1", tags=["workers"])
RunParam = Annotated[str, PathParam(max_length=32)]


@router.post(
    "/claim",
    response_model=Assignment,
    responses={
        204: {
            "description": "Nothing to do; `Retry-After` says in how many seconds to ask again at the earliest."
        },
        426: {"description": "The worker's release is too old: `message` says what to do."},
    },
)
def claim(
    body: ClaimRequest, token_id: WorkerTokenDep, session: SessionDep, services: ServicesDep
) -> Response:
    """Claim a run; 204 if there is none for this worker."""
    if is_too_old(body.worker):
        worker = leases.register_worker(session, token_id, body.worker)
        return JSONResponse({"error": "too_old", "message": refuse(session, worker, body.worker)}, 426)
    while (claimed := leases.claim(session, services.settings, token_id, body.worker)) is not None:
        run = claimed.run
        CLAIMS.labels("run").inc()
        CLAIM_WAIT.labels(run.hardware_class).observe((now() - run.queued_at).total_seconds())
        try:
            job = make_job(services, session, run)
            return Response(job.model_dump_json(), media_type="application/json")
        except NotAssignable as problem:
            leases.fail_run(session, run, Verdict.BAD_SETTINGS, problem.message)
    CLAIMS.labels("nothing").inc()
    pace = leases.pace(services.settings, count_workers(session, body.worker.hardware_class))
    return Response(status_code=204, headers={"retry-after": f"{pace:.0f}"})


@router.get("/waiting/{hardware_class}")
def tell_waiting(
    hardware_class: Annotated[str, PathParam(max_length=64)], token_id: WorkerTokenDep, session: SessionDep
) -> Waiting:
    """How many runs wait for a class of machines, and how many workers with this token are at."""
    return count_waiting(session, token_id, hardware_class)


@router.get("/images/{hardware_class}")
def tell_images(
    hardware_class: Annotated[str, PathParam(max_length=64)], token_id: WorkerTokenDep, session: SessionDep
) -> list[AskedImage]:
    """The images that phases of a class of machines ask for by lists of packages."""
    return asked_of(session, token_id, hardware_class)


@router.post("/runs/{run_id}/heartbeat")
def heartbeat(
    run_id: RunParam, body: Heartbeat, token_id: WorkerTokenDep, session: SessionDep, services: ServicesDep
) -> HeartbeatReply:
    """Extend the lease, tell progress and measures, learn whether to cancel."""
    held = leases.look_held(session, token_id, run_id, body.epoch)
    reply = leases.extend(session, services.settings, token_id, held, body.progress)
    keep_measures(session, held, body.measures)
    return reply


@router.post("/runs/{run_id}/events", status_code=204)
def keep_log(
    run_id: RunParam, body: Events, token_id: WorkerTokenDep, session: SessionDep, services: ServicesDep
) -> None:
    """Append to the run's log."""
    held = leases.look_held(session, token_id, run_id, body.epoch, lock=True)
    keep_events(session, services.settings, held, body.events)


@router.put("/runs/{run_id}/artifacts/{name}", status_code=204)
async def put_artifact(
    request: Request,
    run_id: RunParam,
    name: Annotated[str, PathParam(max_length=64)],
    epoch: Annotated[int, Query(ge=0, lt=2**31)],
    token_id: WorkerTokenDep,
    services: ServicesDep,
) -> None:
    """Store a file of the attempt; header `X-Digest` is its sha-256."""
    await to_thread.run_sync(_require_held, services, token_id, run_id, epoch)
    announced = request.headers.get("x-digest", "")
    handle, temporary = tempfile.mkstemp(prefix="anyshot-artifact-")
    path = Path(temporary)
    try:
        with os.fdopen(handle, "wb") as sink:
            digest = await _receive(request, sink, services.settings.artifact_max_bytes)
        if digest != announced:
            raise Invalid("The bytes that arrived do not have the digest announced.", digest=digest)
        await to_thread.run_sync(_keep_artifact, services, token_id, run_id, epoch, name, path, digest)
    finally:
        path.unlink(missing_ok=True)


async def _receive(request: Request, sink: object, most: int) -> str:
    sha, size = hashlib.sha256(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise TooLarge(f"An artifact has at most {most >> 20} MiB.", limit=most)
        sha.update(chunk)
        await to_thread.run_sync(sink.write, chunk)  # pyright: ignore[reportAttributeAccessIssue]
    return sha.hexdigest()


def _require_held(services: Services, token_id: str, run_id: str, epoch: int) -> None:
    with services.database.writing() as session:
        leases.find_held(session, token_id, run_id, epoch)


def _keep_artifact(
    services: Services, token_id: str, run_id: str, epoch: int, name: str, path: Path, digest: str
) -> None:
    blob = keep_file(services, path, digest)
    with services.database.writing() as session:
        run = leases.find_held(session, token_id, run_id, epoch)
        results.add_artifact(session, run, name, digest, blob.size)


@router.post("/runs/{run_id}/complete", status_code=204)
def complete(
    run_id: RunParam, body: Complete, token_id: WorkerTokenDep, session: SessionDep, services: ServicesDep
) -> None:
    """The attempt succeeded. Sent again by the same attempt, it changes nothing."""
    if leases.has_ended_by(session, token_id, run_id, body.epoch):
        return
    run = leases.find_held(session, token_id, run_id, body.epoch)
    results.complete(services, session, run, body)


@router.post("/runs/{run_id}/fail", status_code=204)
def fail(
    run_id: RunParam, body: Fail, token_id: WorkerTokenDep, session: SessionDep, services: ServicesDep
) -> None:
    """The attempt failed. Sent again by the same attempt, it changes nothing."""
    if leases.has_ended_by(session, token_id, run_id, body.epoch):
        return
    run = leases.find_held(session, token_id, run_id, body.epoch)
    results.fail(session, services.settings, run, body)


@router.post("/runs/{run_id}/release", status_code=204)
def release(
    run_id: RunParam, body: Release, token_id: WorkerTokenDep, session: SessionDep, services: ServicesDep
) -> None:
    """The worker stops and gives the lease back."""
    run = leases.find_held(session, token_id, run_id, body.epoch)
    if body.unreadable:
        return_unreadable(session, services.settings, run, body.unreadable)
    else:
        leases.release(session, services.settings, run)


@router.get("/blobs/{digest}", dependencies=[Depends(public)])
def fetch_blob(
    digest: Annotated[str, PathParam(pattern="^[0-9a-f]{64}$")],
    expires: Annotated[int, Query(ge=0, lt=2**40)],
    signature: Annotated[str, Query(max_length=64)],
    services: ServicesDep,
) -> Response:
    """A stored file, for those who hold a signed address."""
    check_signature(services, digest, expires, signature)
    return send_stored(services, digest, None, headers={"cache-control": "private, max-age=3600"})

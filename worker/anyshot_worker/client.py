"""The worker's side of the worker API: typed calls, retries, and the two answers that end an attempt."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from anyshot_core.data.digests import digest_file
from anyshot_core.wire.jobs import Claimed, Job, read_assignment
from anyshot_core.wire.worker_api import (
    ArtifactRef,
    AskedImage,
    BlobRef,
    ClaimRequest,
    Complete,
    Event,
    Events,
    Fail,
    Heartbeat,
    HeartbeatReply,
    Measure,
    Progress,
    Release,
    Waiting,
    WorkerInfo,
)

PREFIX = "/api/worker/v1"
CHUNK = 1 << 20
CALL_SECONDS = 30.0  # that the platform may take to answer
BEAT_SECONDS = 5.0  # the same for a heartbeat: after an outage leases get ten seconds, in which one must come
STORE_SECONDS = 600.0  # the same for an upload: the answer comes once the file is in the platform's storage
OUTAGE_SECONDS = 600.0  # for which an attempt goes on without the platform: an upgrade or a reboot is done
BREAKS = 5  # of a transfer that was under way, after each of which it has all its time again
Answer = TypeVar("Answer")


class WorkerApiError(Exception):
    """Base of what can go wrong between worker and platform."""


class StaleEpoch(WorkerApiError):
    """The lease went to another attempt: whatever this one still does is refused."""


class PlatformUnreachable(WorkerApiError):
    """The platform did not answer within the time allowed for retries."""


class RequestRefused(WorkerApiError):
    """The platform refused a request; the text says why."""


class TooOld(RequestRefused):
    """The platform gives no work to workers of this release; the text says what to do."""


class Unreadable(WorkerApiError):
    """A claim was answered with a job that this release cannot read: `claimed` says which attempt it is."""

    def __init__(self, claimed: Claimed, problem: str) -> None:
        super().__init__(f"run {claimed.run_id} cannot be read by this release: {problem}")
        self.claimed, self.problem = claimed, problem


class WorkerClient:
    """Calls the worker API of one platform with one worker's token. Safe to use from several threads."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience: float = 60.0,
        outage: float = OUTAGE_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`patience`: seconds for which a call is tried again while the platform is away; `outage`: the same for files
        and final words, which an attempt cannot do without.
        """
        self._patience, self._outage = patience, outage
        self.pace_seconds = 0.0  # as the platform last said
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}"},
            timeout=CALL_SECONDS,
            transport=transport,
        )
        # Storage elsewhere is reached by addresses that are signed already; the token is not for its eyes.
        self._elsewhere = httpx.Client(timeout=CALL_SECONDS, transport=transport)

    def close(self) -> None:
        """Drop the connections."""
        self._http.close()
        self._elsewhere.close()

    def claim(self, worker: WorkerInfo) -> Job | None:
        """Take over a run that is queued or whose lease ran out; None when there is nothing for this worker.

        Raises `TooOld` where the platform has no work for this release, and `Unreadable` for a job of a later one.
        """
        answer = self._post("/claim", ClaimRequest(worker=worker))
        if answer.status_code == 204:
            self.pace_seconds = float(answer.headers.get("retry-after", 0))
            return None
        try:
            return read_assignment(answer.content)
        except ValidationError as error:
            raise Unreadable(_claimed(answer.content), _problem_of(error)) from error

    def waiting(self, hardware_class: str) -> Waiting:
        """How many runs wait for a class of machines, and how many workers with this token are at."""
        answer = self._request("GET", f"/waiting/{hardware_class}", headers={}, body=lambda: b"")
        return Waiting.model_validate_json(answer.content)

    def asked_images(self, hardware_class: str) -> list[AskedImage]:
        """The images that phases of a class of machines ask for by lists of packages."""
        answer = self._request("GET", f"/images/{hardware_class}", headers={}, body=lambda: b"")
        return TypeAdapter(list[AskedImage]).validate_json(answer.content)

    def heartbeat(
        self, run_id: str, epoch: int, progress: Progress, measures: Sequence[Measure] = ()
    ) -> HeartbeatReply:
        """Extend the lease and learn whether to cancel; tried once only, as the next beat follows soon."""
        told = {"measures": list(measures)} if measures else {}
        beat = Heartbeat(epoch=epoch, progress=progress, **told)
        answer = self._post(f"/runs/{run_id}/heartbeat", beat, patience=0.0, timeout=BEAT_SECONDS)
        reply = HeartbeatReply.model_validate_json(answer.content)
        self.pace_seconds = reply.pace_seconds
        return reply

    def send_events(self, run_id: str, epoch: int, events: list[Event]) -> None:
        """Append to the run's log."""
        self._post(f"/runs/{run_id}/events", Events(epoch=epoch, events=events))

    def upload(self, run_id: str, epoch: int, name: str, path: Path) -> ArtifactRef:
        """Store a file as an artifact of this attempt, verified by digest on arrival."""
        digest, size = digest_file(path), path.stat().st_size
        self._request(
            "PUT",
            f"/runs/{run_id}/artifacts/{name}",
            params={"epoch": epoch},
            headers={"X-Digest": digest, "Content-Length": str(size)},
            body=lambda: _read_chunks(path),
            patience=self._outage,
            timeout=httpx.Timeout(CALL_SECONDS, read=STORE_SECONDS),
            breaks=BREAKS,
        )
        return ArtifactRef(name=name, digest=digest, size=size)

    def complete(self, run_id: str, result: Complete) -> None:
        """Announce a finished attempt; its artifacts must be stored already."""
        self._post(f"/runs/{run_id}/complete", result, patience=self._outage)

    def fail(self, run_id: str, failure: Fail) -> None:
        """Announce a failed attempt."""
        self._post(f"/runs/{run_id}/fail", failure, patience=self._outage)

    def release(self, run_id: str, epoch: int, unreadable: str = "") -> None:
        """Give a lease back: the run is queued again at once, for another worker where this one cannot read it."""
        message = Release(epoch=epoch, unreadable=unreadable) if unreadable else Release(epoch=epoch)
        self._post(f"/runs/{run_id}/release", message, patience=3.0)

    def fetch(self, blob: BlobRef, target: Path) -> None:
        """Download a blob to `target` and verify it; raises `RequestRefused` when digest or size differ."""
        self._patiently(lambda: self._fetch_once(blob, target), self._outage, BREAKS)

    def _fetch_once(self, blob: BlobRef, target: Path) -> None:
        sha, size = hashlib.sha256(), 0
        http = self._elsewhere if "://" in blob.url else self._http
        with http.stream("GET", blob.url) as answer, target.open("wb") as file:
            _raise_for(answer)
            for chunk in answer.iter_bytes(CHUNK):
                size += len(chunk)
                if size > blob.size:
                    break
                sha.update(chunk)
                file.write(chunk)
        if size != blob.size or sha.hexdigest() != blob.digest:
            raise RequestRefused(
                f"blob {blob.digest[:12]}: {size} bytes came that are not the {blob.size} announced"
            )

    def _post(
        self, path: str, message: BaseModel, patience: float | None = None, timeout: float = CALL_SECONDS
    ) -> httpx.Response:
        content = message.model_dump_json(exclude_unset=True).encode()
        headers = {"Content-Type": "application/json"}
        return self._request(
            "POST", path, headers=headers, body=lambda: content, patience=patience, timeout=timeout
        )

    def _request(
        self,
        method: str,
        path: str,
        *,
        headers: dict[str, str],
        body: Callable[[], bytes | Iterator[bytes]],
        params: dict[str, Any] | None = None,
        patience: float | None = None,
        timeout: httpx.Timeout | float = CALL_SECONDS,
        breaks: int = 0,
    ) -> httpx.Response:
        def once() -> httpx.Response:
            answer = self._http.request(
                method, PREFIX + path, headers=headers, content=body(), params=params, timeout=timeout
            )
            _raise_for(answer)
            return answer

        return self._patiently(once, self._patience if patience is None else patience, breaks)

    def _patiently(self, call: Callable[[], Answer], patience: float, breaks: int = 0) -> Answer:
        """Try again for `patience` seconds, which begin anew where a call that was under way broke, `breaks` times."""
        deadline, pause = time.monotonic() + patience, 0.2
        while True:
            began = time.monotonic()
            try:
                return call()
            except (httpx.TransportError, PlatformUnreachable) as error:
                ended = time.monotonic()
                if breaks and ended - began > pause:
                    breaks, deadline = breaks - 1, ended + patience
                if ended + pause > deadline:
                    raise PlatformUnreachable(
                        f"the platform did not answer for {patience:.0f} s: {error}"
                    ) from error
            time.sleep(pause)
            pause = min(pause * 2, 5.0)


def _read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _words_of(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:500]


def _claimed(content: bytes) -> Claimed:
    try:
        return Claimed.model_validate_json(content)
    except ValidationError as error:
        raise RequestRefused(f"a claim was answered with what is no job: {_problem_of(error)}") from error


def _problem_of(error: ValidationError) -> str:
    found = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()[:3]]
    return "; ".join(found)[:1000]


def _raise_for(answer: httpx.Response) -> None:
    if answer.is_success:
        return
    answer.read()
    text = answer.text[:500]
    if answer.status_code == 409:
        raise StaleEpoch(text)
    if answer.status_code >= 500 or answer.status_code == 429:
        raise PlatformUnreachable(f"{answer.status_code}: {text}")
    if answer.status_code == 426:
        raise TooOld(_words_of(answer))
    raise RequestRefused(
        f"{answer.request.method} {answer.request.url.path} answered {answer.status_code}: {text}"
    )

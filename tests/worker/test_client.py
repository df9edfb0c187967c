"""The worker's HTTP client: retries, epochs, digests."""

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from anyshot_core.wire.worker_api import BlobRef, Complete, Fail, Progress, Release
from anyshot_worker import client as client_module
from anyshot_worker.client import PlatformUnreachable, RequestRefused, StaleEpoch, WorkerClient
from tests.contract.recording import recorded, worker_info

Handler = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def client_for() -> Iterator[Callable[[Handler], WorkerClient]]:
    made: list[WorkerClient] = []

    def make(handler: Handler) -> WorkerClient:
        made.append(
            WorkerClient(
                "http://platform", "secret", patience=1.2, outage=1.2, transport=httpx.MockTransport(handler)
            )
        )
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_nothing_to_claim_is_none(client_for: Callable[[Handler], WorkerClient]) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(204, headers={"retry-after": "10"})

    client = client_for(answer)
    assert client.claim(worker_info(name="w")) is None
    assert client.pace_seconds == 10.0
    assert asked[0].headers["authorization"] == "Bearer secret"
    assert asked[0].url.path == "/api/worker/v1/claim"


def test_a_restarting_platform_is_waited_for(client_for: Callable[[Handler], WorkerClient]) -> None:
    answers = iter([httpx.Response(503), httpx.ConnectError("down"), httpx.Response(200)])

    def answer(request: httpx.Request) -> httpx.Response:
        del request
        match next(answers):
            case Exception() as error:
                raise error
            case response:
                return response

    client_for(answer).release("r", 1)


def test_patience_ends(client_for: Callable[[Handler], WorkerClient]) -> None:
    calls: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        del request
        calls.append(1)
        return httpx.Response(502)

    with pytest.raises(PlatformUnreachable, match="502"):
        client_for(answer).fetch(BlobRef(digest="0" * 64, size=1, url="/blob"), Path("/dev/null"))
    assert len(calls) > 1


def breaking(times: int, seconds: float, error: Exception | httpx.Response) -> tuple[Handler, list[float]]:
    """Takes `seconds` for each request, and the first `times` end with the error; with when each one began."""
    began: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        request.read()
        began.append(time.monotonic())
        if len(began) > times:
            return httpx.Response(200, content=b"x")
        time.sleep(seconds)
        if isinstance(error, Exception):
            raise error
        return error

    return answer, began


@pytest.mark.seconds("waits as a worker does")
@pytest.mark.parametrize("error", [httpx.ReadError("reset"), httpx.ReadTimeout("slow"), httpx.Response(504)])
def test_a_transfer_that_breaks_after_a_long_time_is_begun_again(
    client_for: Callable[[Handler], WorkerClient], tmp_path: Path, error: Exception | httpx.Response
) -> None:
    """Whatever it took: the time for trying again is not the time that a transfer may take."""
    (tmp_path / "learner.bin").write_bytes(b"x")
    handler, began = breaking(1, 1.3, error)
    client_for(handler).upload("r", 1, "learner.bin", tmp_path / "learner.bin")
    assert len(began) == 2


@pytest.mark.seconds("waits as a worker does")
def test_a_download_that_breaks_after_a_long_time_is_begun_again(
    client_for: Callable[[Handler], WorkerClient], tmp_path: Path
) -> None:
    handler, began = breaking(1, 1.3, httpx.ReadError("reset"))
    blob = BlobRef(digest=hashlib.sha256(b"x").hexdigest(), size=1, url="/b")
    client_for(handler).fetch(blob, tmp_path / "x")
    assert len(began) == 2


@pytest.mark.seconds("waits as a worker does")
def test_a_transfer_that_breaks_each_time_ends(
    client_for: Callable[[Handler], WorkerClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "BREAKS", 1)
    (tmp_path / "learner.bin").write_bytes(b"x")
    handler, began = breaking(100, 1.3, httpx.ReadError("reset"))
    with pytest.raises(PlatformUnreachable, match="reset"):
        client_for(handler).upload("r", 1, "learner.bin", tmp_path / "learner.bin")
    assert len(began) == 2


def test_an_upload_waits_for_the_storage_and_a_heartbeat_for_nothing(
    client_for: Callable[[Handler], WorkerClient], tmp_path: Path
) -> None:
    """The answer to an upload comes when the file is stored elsewhere; a beat is followed by another."""
    waits: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        request.read()
        waits.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, json=recorded("reply"))

    (tmp_path / "learner.bin").write_bytes(b"x")
    client = client_for(answer)
    client.upload("r", 1, "learner.bin", tmp_path / "learner.bin")
    client.heartbeat("r", 1, Progress.model_validate(recorded("heartbeat")["progress"]))
    assert waits == [600.0, 5.0]


@pytest.mark.parametrize("word", ["complete", "fail"])
def test_a_final_word_is_as_patient_as_an_attempt(word: str) -> None:
    """The platform is away for longer than other calls are tried again."""
    answers = iter([httpx.ConnectError("down")] * 3)

    def answer(request: httpx.Request) -> httpx.Response:
        del request
        if (error := next(answers, None)) is not None:
            raise error
        return httpx.Response(204)

    client = WorkerClient("http://platform", "t", patience=0.1, transport=httpx.MockTransport(answer))
    with contextlib.closing(client):
        if word == "complete":
            client.complete("r", Complete.model_validate(recorded("complete-evaluate")))
        else:
            client.fail("r", Fail.model_validate(recorded("fail-RUNTIME_ERROR")))


def test_a_heartbeat_is_tried_once(client_for: Callable[[Handler], WorkerClient]) -> None:
    calls: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        del request
        calls.append(1)
        return httpx.Response(502)

    with pytest.raises(PlatformUnreachable):
        client_for(answer).heartbeat("r", 1, Progress.model_validate(recorded("heartbeat")["progress"]))
    assert calls == [1]


def test_a_stale_epoch_is_told_apart(client_for: Callable[[Handler], WorkerClient]) -> None:
    client = client_for(lambda _: httpx.Response(409, json={"error": "stale_epoch"}))
    with pytest.raises(StaleEpoch):
        client.release("r", 1)


def test_a_refusal_says_what_the_platform_said(client_for: Callable[[Handler], WorkerClient]) -> None:
    client = client_for(lambda _: httpx.Response(403, text="this worker was revoked"))
    with pytest.raises(RequestRefused, match="this worker was revoked"):
        client.release("r", 1)


def test_a_blob_is_verified(client_for: Callable[[Handler], WorkerClient], tmp_path: Path) -> None:
    content = b"pixels" * 1000
    client = client_for(lambda _: httpx.Response(200, content=content))
    good = BlobRef(digest=hashlib.sha256(content).hexdigest(), size=len(content), url="/b")
    client.fetch(good, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == content
    with pytest.raises(RequestRefused, match="not the"):
        client.fetch(good.model_copy(update={"digest": "0" * 64}), tmp_path / "b")
    with pytest.raises(RequestRefused):
        client.fetch(good.model_copy(update={"size": 10}), tmp_path / "c")


def test_the_token_goes_to_the_platform_only(
    client_for: Callable[[Handler], WorkerClient], tmp_path: Path
) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, content=b"x")

    client, digest = client_for(answer), hashlib.sha256(b"x").hexdigest()
    for url in ("/api/worker/v1/blobs/x", "http://storage/x?signature=y"):
        client.fetch(BlobRef(digest=digest, size=1, url=url), tmp_path / "x")
    assert [request.headers.get("authorization") for request in seen] == ["Bearer secret", None]


def test_an_upload_states_its_digest_and_epoch(
    client_for: Callable[[Handler], WorkerClient], tmp_path: Path
) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        request.read()
        seen.append(request)
        return httpx.Response(200)

    path = tmp_path / "results.parquet"
    path.write_bytes(b"table")
    stored = client_for(answer).upload("r", 7, "results.parquet", path)
    assert stored.digest == hashlib.sha256(b"table").hexdigest() == seen[0].headers["x-digest"]
    assert seen[0].url.params["epoch"] == "7" and seen[0].content == b"table"


def test_readers_leave_what_they_do_not_know() -> None:
    assert Release.model_validate({"epoch": 1, "label": 3}) == Release.model_validate({"epoch": 1})


def test_only_what_was_said_is_sent(client_for: Callable[[Handler], WorkerClient]) -> None:
    """A platform of the release before refuses fields that it does not know."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(204)

    client_for(answer).release("r", 7)
    assert seen[0].read() == b'{"epoch":7}'

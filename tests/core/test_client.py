"""The client against a platform that is old, far away, or of another mind; answers are made up, the client is real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from anyshot_core.client import Client, ClientError, NotAllowed, Refused, Unreachable

Answers = Callable[[httpx.Request], httpx.Response]


def client(answers: Answers) -> Client:
    """A client that waits for nothing."""
    return Client("https://site.example", transport=httpx.MockTransport(answers), wait=0.0)


def no(code: str, status: int = 400, **more: Any) -> httpx.Response:
    return httpx.Response(status, json={"error": code, "message": f"No: {code}.", **more})


@pytest.mark.parametrize("ask", [Client.evaluations, Client.figures])
def test_of_what_an_older_platform_does_not_know_there_is_none(ask: Callable[..., list[Any]]) -> None:
    """Another refusal is no empty list: it says why."""
    assert ask(client(lambda _: no("not_found", 404)), "one") == []
    with pytest.raises(Refused, match="No: locked"):
        ask(client(lambda _: no("locked", 409)), "one")


class Uploads:
    """An upload of ten bytes in parts of four, and what goes wrong with the first part."""

    def __init__(self, wrong: Answers) -> None:
        self.wrong, self.kept, self.began = wrong, b"", False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "PUT":
            if not self.began:
                self.began = True
                self.kept = request.content[:3]  # the platform keeps what arrived
                return self.wrong(request)
            assert int(request.url.params["offset"]) == len(self.kept)
            self.kept += request.content
        return httpx.Response(200, json={"id": "u", "received": len(self.kept), "part_bytes": 4})


def lost(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("the line went dead")


@pytest.mark.parametrize(
    "wrong", [lost, lambda _: no("wrong_offset", 409, received=3), lambda _: httpx.Response(502)]
)
def test_an_upload_goes_on_where_the_platform_has_it(wrong: Answers, tmp_path: Path) -> None:
    (file := tmp_path / "zip").write_bytes(b"0123456789")
    sent: list[int] = []
    uploads = Uploads(wrong)
    client(uploads).upload(file, lambda done, total: sent.append(done))
    assert uploads.kept == b"0123456789" and sent == [0, 3, 7, 10]


def test_an_upload_that_is_refused_says_so(tmp_path: Path) -> None:
    (file := tmp_path / "zip").write_bytes(b"0123456789")
    with pytest.raises(Refused, match="quota_used_up"):
        client(Uploads(lambda _: no("quota_used_up", 409))).upload(file)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (httpx.Response(507), "The upload does not go on. The platform answered 507."),
        (no("wrong_offset", 409, received=0), "No: wrong_offset."),
    ],
)
def test_an_upload_of_which_nothing_more_is_taken_ends(
    answer: httpx.Response, told: str, tmp_path: Path
) -> None:
    """The disk of the platform is full, say: it takes no part, and everything else of it answers."""
    (file := tmp_path / "zip").write_bytes(b"0123456789")
    tried: list[bytes] = []

    def full(request: httpx.Request) -> httpx.Response:
        if request.method == "PUT":
            tried.append(request.content)
            assert len(tried) < 20, "it goes on for ever"
            return answer
        return httpx.Response(200, json={"id": "u", "received": 0, "part_bytes": 4})

    with pytest.raises(ClientError) as problem:
        client(full).upload(file)
    assert str(problem.value) == told and len(tried) == 6


def test_the_answer_to_what_is_checked_and_stored_is_waited_for(tmp_path: Path) -> None:
    """A client that gives up earlier leaves a submission that is queued, and its user submits once more."""
    (file := tmp_path / "zip").write_bytes(b"0123456789")
    waits: dict[str, float] = {}

    def slow(request: httpx.Request) -> httpx.Response:
        patience = request.extensions["timeout"]
        path = request.url.path.removeprefix("/api/v1")
        waits[path] = min(patience["read"], waits.get(path, patience["read"]))
        if (
            b'"digest"' in request.content
            and path.endswith("/submissions")
            and b"again" not in request.content
        ):
            return no("unknown_zip", 404)
        return httpx.Response(200, json={"id": "u", "received": 10, "part_bytes": 4})

    one = client(slow)
    one.submit(file, "small", "feedback")
    one.submit_again("0" * 64, "small", "feedback", comment="again", leagues=(), smoke=False)
    one.upload_pack("train", file)
    minutes = {path for path, seconds in waits.items() if seconds >= 600}
    assert minutes == {"/competitions/small/phases/feedback/submissions", "/pools/train/uploads/u/pack"}


def test_a_download_that_breaks_off_or_is_not_allowed_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"site\.example broke off \(the line went dead\)"):
        client(lost).download("one", "run", "log.txt", tmp_path / "log.txt")
    with pytest.raises(NotAllowed, match="No: forbidden"):
        client(lambda _: no("forbidden", 403)).download("one", "run", "log.txt", tmp_path / "log.txt")
    assert not list(tmp_path.iterdir())


def test_reading_is_tried_again_and_writing_is_not() -> None:
    """A page of a proxy between is no answer of the platform."""
    asked: list[str] = []

    def stumbling(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        return httpx.Response(200, json=[]) if len(asked) == 3 else httpx.Response(502, text="<html>")

    assert client(stumbling).competitions() == [] and asked == ["GET"] * 3
    asked.clear()
    with pytest.raises(Unreachable, match="answered 502"):
        client(stumbling).cancel("one")
    assert asked == ["POST"]


def test_proof_is_asked_for_once() -> None:
    """What is refused again after it stays refused."""
    proofs: list[bytes] = []

    def doubtful(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/me/proof"):
            proofs.append(request.content)
            return httpx.Response(200, json={})
        return no("prove", 403)

    asking = client(doubtful)
    asking.ask_for_proof = lambda: "123456"
    with pytest.raises(Refused, match="No: prove"):
        asking.organize("POST", "cup", "/acts")
    assert proofs == [b'{"proof":"123456"}']


def test_a_submission_is_followed_to_its_end() -> None:
    states = iter(["queued", "running", "finished", "never asked for"])
    following = client(lambda _: httpx.Response(200, json={"status": next(states)})).follow("one", every=0.0)
    assert [state["status"] for state in following] == ["queued", "running", "finished"]

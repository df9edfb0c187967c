"""The client against a platform that is old, far away, or of another mind; answers are made up, the client is real."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from anyshot_core.client import Client, ClientError, NotAllowed, PerhapsQueued, Refused, SiteBusy, Unreachable

Answers = Callable[[httpx.Request], httpx.Response]


def client(answers: Answers) -> Client:
    """A client that waits for nothing."""
    return Client("https://site.example", transport=httpx.MockTransport(answers), wait=0.0)


def no(code: str, status: int = 400, **more: Any) -> httpx.Response:
    return httpx.Response(status, json={"error": code, "message": f"No: {code}.", **more})


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


class Broken(httpx.SyncByteStream):
    """A file of which the beginning comes."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"the beginning"
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
    one.fetch("/submissions/one/everything", tmp_path / "everything.zip")  # it is made before its first byte
    minutes = {path for path, seconds in waits.items() if seconds >= 600}
    assert minutes == {
        "/competitions/small/phases/feedback/submissions",
        "/pools/train/uploads/u/pack",
        "/submissions/one/everything",
    }


def test_a_download_that_breaks_off_or_is_not_allowed_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"site\.example broke off \(the line went dead\)"):
        client(lost).download("one", "run", "log.txt", tmp_path / "log.txt")
    with pytest.raises(NotAllowed, match="No: forbidden"):
        client(lambda _: no("forbidden", 403)).download("one", "run", "log.txt", tmp_path / "log.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("broken", [lost, lambda _: httpx.Response(200, stream=Broken())])
def test_a_download_that_breaks_off_leaves_the_file_that_was_there(broken: Answers, tmp_path: Path) -> None:
    """It was emptied first: a second download of a good file that broke off destroyed the first one."""
    (target := tmp_path / "results.parquet").write_bytes(b"complete")
    with pytest.raises(Unreachable, match="broke off"):
        client(broken).download("one", "run", "results.parquet", target)
    assert target.read_bytes() == b"complete" and list(tmp_path.iterdir()) == [target]


def test_a_download_makes_its_folder_and_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    whole = client(lambda _: httpx.Response(200, content=b"new"))
    whole.fetch("/one", target := tmp_path / "a" / "b" / "zip")
    (link := tmp_path / "link").symlink_to(target)
    target.write_bytes(b"old")
    whole.fetch("/one", link)
    assert target.read_bytes() == b"new" and link.is_symlink()
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "a", tmp_path / "a" / "b", target, link]


def test_a_download_into_a_pipe_goes_through_it(tmp_path: Path) -> None:
    """As `-o /dev/stdout` does: a pipe cannot be replaced by a file."""
    os.mkfifo(pipe := tmp_path / "pipe")
    with ThreadPoolExecutor() as other:
        read = other.submit(pipe.read_bytes)
        client(lambda _: httpx.Response(200, content=b"through")).fetch("/one", pipe)
        assert read.result(10) == b"through"
    assert list(tmp_path.iterdir()) == [pipe] and pipe.is_fifo()


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


def test_proof_is_asked_for_once(tmp_path: Path) -> None:
    """What is refused again after it stays refused."""
    proofs: list[bytes] = []

    def doubtful(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/me/proof"):
            proofs.append(request.content)
            return httpx.Response(200, json={})
        return no("prove", 403)

    def ask() -> Client:
        asking = client(doubtful)
        asking.ask_for_proof = lambda: "123456"
        return asking

    with pytest.raises(Refused, match="No: prove"):
        ask().organize("POST", "cup", "/acts")
    with pytest.raises(Refused, match="No: prove"):
        ask().fetch("/competitions/cup/manage/bundle.zip", tmp_path / "cup.zip", {})
    assert proofs == [b'{"proof":"123456"}'] * 2


def test_a_submission_is_followed_to_its_end() -> None:
    states = iter(["queued", "running", "finished", "never asked for"])
    following = client(lambda _: httpx.Response(200, json={"status": next(states)})).follow("one", every=0.0)
    assert [state["status"] for state in following] == ["queued", "running", "finished"]


def away(times: int, answers: Answers) -> Answers:
    """The site does not answer the first so many requests."""
    asked = iter(range(times))
    return lambda request: answers(request) if next(asked, None) is None else lost(request)


def test_who_follows_outlasts_an_outage() -> None:
    """Three tries, three seconds: a proxy that was started anew ended `--follow`."""
    states = iter(["queued", "finished"])
    following = client(away(20, lambda _: httpx.Response(200, json={"status": next(states)})))
    assert [state["status"] for state in following.follow("one", every=0.0)] == ["queued", "finished"]


def test_an_outage_is_told_once_and_its_end_once() -> None:
    told: list[str] = []
    one = client(away(20, lambda _: httpx.Response(200, json=[])))
    with one.outlasting(told.append):
        assert one.competitions() == one.competitions() == []
    assert told == [
        "https://site.example does not answer (the line went dead). Trying again for 10 minutes.",
        "The platform answers again.",
    ]
    one = client(away(20, lambda _: httpx.Response(200, json=[])))
    with one.outlasting(told.append):
        pass
    with pytest.raises(Unreachable):  # outside of the block
        one.competitions()
    assert len(told) == 2


def test_an_outage_that_does_not_end_and_a_refusal_are_not_waited_for() -> None:
    one = client(lost)
    told: list[str] = []
    with one.outlasting(told.append, seconds=0.01), pytest.raises(Unreachable):
        one.competitions()
    assert len(told) == 1
    one = client(lambda _: no("forbidden", 403))
    with one.outlasting(told.append), pytest.raises(NotAllowed):
        one.competitions()
    asked: list[str] = []
    one = client(lambda request: asked.append(request.method) or httpx.Response(502))
    with one.outlasting(told.append), pytest.raises(Unreachable):
        one.cancel("one")
    assert asked == ["POST"] and len(told) == 1


def unconnected(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused")


@pytest.mark.parametrize("broken", [lost, lambda _: httpx.Response(504, text="<html>"), unconnected])
def test_a_submission_without_an_answer_may_be_queued(broken: Answers, tmp_path: Path) -> None:
    """Who submits once more has two submissions, and a quota that is used up. Where nothing was sent, none is there."""
    (file := tmp_path / "zip").write_bytes(b"0123456789")

    def answers(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/submissions"):
            return no("unknown_zip", 404) if b'"digest"' in request.content else broken(request)
        return httpx.Response(200, json={"id": "u", "received": 10, "part_bytes": 4})

    with pytest.raises(Unreachable) as failure:
        client(answers).submit(file, "small", "feedback")
    assert isinstance(failure.value, PerhapsQueued) == (broken is not unconnected)
    with pytest.raises(Unreachable) as failure:
        client(broken).submit_again("0" * 64, "small", "feedback", comment="", leagues=(), smoke=False)
    assert isinstance(failure.value, PerhapsQueued) == (broken is not unconnected)
    assert ("may be queued all the same" in str(failure.value)) == (broken is not unconnected)


def test_a_hand_in_that_is_refused_for_load_is_sent_again_with_its_ticket(tmp_path: Path) -> None:
    (file := tmp_path / "zip").write_bytes(b"0123456789")
    asked: list[tuple[str, str]] = []

    def busy_twice(request: httpx.Request) -> httpx.Response:
        asked.append((request.url.path, request.headers.get("cookie", "")))
        if len(asked) < 3:
            return httpx.Response(
                503,
                json={"error": "busy", "message": "Too many."},
                headers={"set-cookie": f"place={len(asked)}"},
            )
        return httpx.Response(200, json={"id": "s"})

    assert client(busy_twice).submit(file, "c", "p") == {"id": "s"}
    path = "/api/v1/competitions/c/phases/p/submissions"
    assert asked == [(path, ""), (path, "place=1"), (path, "place=2")]


def test_a_platform_that_stays_busy_queued_nothing() -> None:
    answers = client(lambda _: no("busy", 503))
    with pytest.raises(SiteBusy):
        answers.submit_again("d" * 64, "c", "p", comment="", leagues=(), smoke=False)

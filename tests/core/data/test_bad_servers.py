"""Servers that answer otherwise than they should: what is said, and what is there afterwards."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from anyshot_core.data import download, openml
from anyshot_core.data.download import DownloadError, RemoteFile, fetch
from anyshot_core.data.openml import Description, describe, download_dataset, list_files

CONTENT = b"0123456789" * 50
FILE = RemoteFile("http://there/file", "file", len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())
Answer = Callable[[httpx.Request], httpx.Response]


def client_of(answer: Answer) -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(answer))


def ranges(request: httpx.Request) -> httpx.Response:
    """A server that sends what was asked for."""
    start = int(request.headers.get("range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
    return httpx.Response(206 if start else 200, content=CONTENT[start:])


def from_the_start(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, content=CONTENT)


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (ranges, b""),
        (ranges, CONTENT[:200]),
        (from_the_start, CONTENT[:200]),  # one that does not continue
        (ranges, CONTENT),  # whole, but not yet called so
        (ranges, b"what is left of another file" * 50),
    ],
)
def test_whatever_is_there_already_the_file_is_whole_and_its_bytes_are_counted_once(
    tmp_path: Path, answer: Answer, part: bytes
) -> None:
    if part:
        (tmp_path / "file.part").write_bytes(part)
    came: list[int] = []
    with client_of(answer) as client:
        assert fetch(client, FILE, tmp_path, came.append).read_bytes() == CONTENT
        assert sum(came) == len(CONTENT)
        came.clear()
        fetch(client, FILE, tmp_path, came.append)
    assert came == [len(CONTENT)] and not (tmp_path / "file.part").exists()


def test_a_server_that_does_not_answer_is_asked_again_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[httpx.Request] = []

    def dead(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        raise httpx.ConnectError("refused", request=request)

    monkeypatch.setattr(download, "_PAUSE", 0.0)
    with client_of(dead) as client, pytest.raises(DownloadError, match="there"):
        fetch(client, FILE, tmp_path, lambda _: None)
    assert len(asked) > 1
    with client_of(dead) as client, pytest.raises(DownloadError, match="there"):
        describe(client, "1", "Mini", "http://there")


def test_an_error_of_the_server_is_said_with_its_number(tmp_path: Path) -> None:
    with (
        client_of(lambda _: httpx.Response(403)) as client,
        pytest.raises(DownloadError, match="answers 403"),
    ):
        fetch(client, FILE, tmp_path, lambda _: None)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<html>Log in</html>", "the answer is not JSON. Is there a proxy or a log-in page in between?"),
        ("{}", "the description is not as OpenML writes it"),
        ('{"data_set_description": {"id": "x"}}', "the description is not as OpenML writes it"),
    ],
)
def test_a_description_that_is_none_is_not_taken_for_one(body: str, words: str) -> None:
    with (
        client_of(lambda _: httpx.Response(200, text=body)) as client,
        pytest.raises(DownloadError) as caught,
    ):
        describe(client, "44241", "Mini", "http://there")
    assert words in str(caught.value)


def test_of_several_versions_the_newest_active_one_is_taken() -> None:
    found = [
        {"did": 1, "version": 1, "status": "active"},
        {"did": 2, "version": 2},
        {"did": 3, "version": 3, "status": "deactivated"},
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        if "/list/" in request.url.path:
            return httpx.Response(200, text=json.dumps({"data": {"dataset": found}}))
        number = int(request.url.path.rpartition("/")[2])
        body = {"data_set_description": {"id": number, "name": "n"}}
        return httpx.Response(200, text=json.dumps(body))

    with client_of(answer) as client:
        assert describe(client, "BRD", "Mini", "http://there").id == 2
        found[:] = found[2:]
        assert describe(client, "BRD", "Mini", "http://there").id == 3, "the only one there is"


HERE = Description(id=1, name="n", minio_url="http://there/bucket/folder/")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<ListBucketResult/>", "the bucket at http://there/bucket/folder/ is empty"),
        (
            "<ListBucketResult><Contents><Key>folder/</Key></Contents></ListBucketResult>",
            "is empty",
        ),
        ("{}", "the listing is not XML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><x/>', "the listing is not as a bucket gives it"),
    ],
)
def test_a_listing_that_is_none_is_not_taken_for_one(body: str, words: str) -> None:
    with (
        client_of(lambda _: httpx.Response(200, text=body)) as client,
        pytest.raises(DownloadError) as caught,
    ):
        list_files(client, HERE)
    assert words in str(caught.value)


def test_a_dataset_without_an_address_is_said_to_have_none() -> None:
    with client_of(from_the_start) as client, pytest.raises(DownloadError, match="names no address"):
        list_files(client, Description(id=1, name="n"))


def offered(content: bytes, name: str) -> Answer:
    """A bucket with one file."""
    listing = f"<L><Contents><Key>{name}</Key><Size>{len(content)}</Size></Contents></L>"

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/data/"):
            body = {"data_set_description": {"id": 7, "name": "n", "minio_url": "http://there/bucket"}}
            return httpx.Response(200, text=json.dumps(body))
        if request.url.path == "/bucket":
            return httpx.Response(200, text=listing)
        return httpx.Response(200, content=content)

    return answer


def test_what_was_downloaded_and_is_no_dataset_is_said_to_be_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (target := tmp_path / "a.zip").write_bytes(b"")
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("readme.txt", "no dataset")
    cases = {
        "holds no folder with labels.csv and images/": (target.read_bytes(), 1 << 20),
        "not a zip archive": (b"no zip at all", 1 << 20),
        "the archive would be larger than 3 bytes": (target.read_bytes(), 3),
    }
    for words, (content, most) in cases.items():
        monkeypatch.setattr(openml, "_MOST_UNPACKED", most)
        made = client_of(offered(content, "a.zip"))
        with monkeypatch.context() as patch, pytest.raises(DownloadError, match=words):
            patch.setattr("anyshot_core.data.openml.httpx.Client", lambda made=made, **_: made)
            download_dataset("7", tmp_path / words[:8], api="http://there")

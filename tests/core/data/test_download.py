"""The downloader against a real HTTP server that speaks as OpenML's API and its bucket do."""

import hashlib
import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from click.testing import CliRunner

from anyshot_core.data import download as transfer
from anyshot_core.data.dataset import check_dataset
from anyshot_core.data.download import DownloadError
from anyshot_core.data.openml import download_dataset
from anyshot_starting_kit.cli import data as cli_data
from anyshot_starting_kit.cli.data import data
from tests.core.data.factory import write_dataset

PREFIX = "datasets/0004/44241"


@dataclass
class Bucket:
    """What the server offers, and what it was asked."""

    files: dict[str, bytes]
    address: str = ""
    break_off_after: int | None = None  # bytes of a body, once
    wrong_digest: bool = False
    asked: list[tuple[str, str]] = field(default_factory=list)  # path, Range


class Handler(BaseHTTPRequestHandler):
    bucket: Bucket

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        path = unquote(url.path)
        self.bucket.asked.append((path, self.headers.get("Range", "")))
        if path == "/api/data/list/data_name/Meta_Album_BRD_Micro":
            self.answer_json({"data": {"dataset": [{"did": 44241, "version": 1, "status": "active"}]}})
        elif path.startswith("/api/data/list"):
            self.answer(412, b'{"error": {"code": "372", "message": "No results"}}')
        elif path == "/api/data/44241":
            address = f"{self.bucket.address}/bucket/{PREFIX}/dataset_44241.pq"
            description = {
                "id": "44241",
                "name": "Meta_Album_BRD_Micro",
                "parquet_url": address,
                "licence": "CC",
            }
            self.answer_json({"data_set_description": description})
        elif path == "/bucket":
            self.answer(200, self.listing(parse_qs(url.query)).encode())
        else:
            self.send_file(path.removeprefix("/bucket/"))

    def listing(self, query: dict[str, list[str]]) -> str:
        """Two keys a page, as a bucket with many would answer."""
        keys = sorted(key for key in self.bucket.files if key.startswith(query["prefix"][0]))
        start = int(query.get("continuation-token", ["0"])[0])
        entries = ""
        for key in keys[start : start + 2]:
            content = self.bucket.files[key]
            digest = hashlib.md5(content + b"!" * self.bucket.wrong_digest).hexdigest()
            entries += f"<Contents><Key>{key}</Key><Size>{len(content)}</Size>"
            entries += f"<ETag>&quot;{digest}&quot;</ETag></Contents>"
        more = f"<NextContinuationToken>{start + 2}</NextContinuationToken>" if start + 2 < len(keys) else ""
        return f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{entries}{more}</ListBucketResult>'

    def send_file(self, key: str) -> None:
        content = self.bucket.files[key]
        start = 0
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(match[1])
        body = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = self.bucket.break_off_after
        if cut is not None and len(body) > cut:
            self.bucket.break_off_after = None
            self.wfile.write(body[:cut])
            self.wfile.flush()
            self.close_connection = True
            return
        self.wfile.write(body)

    def answer_json(self, body: object) -> None:
        self.answer(200, json.dumps(body).encode())

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    folder = write_dataset(tmp_path / "origin" / "BRD", classes=2, images=3)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as content:
        for path in sorted(folder.rglob("*")):
            content.write(path, path.relative_to(folder.parent).as_posix())
    files = {f"{PREFIX}/dataset_44241.pq": b"PAR1" * 100, f"{PREFIX}/BRD.zip": archive.getvalue()}
    for name in ("one", "two", "three"):
        files[f"{PREFIX}/extra/{name}.txt"] = name.encode() * 50
    offered = Bucket(files)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"bucket": offered}))
    offered.address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(transfer, "_PAUSE", 0.01)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield offered
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_dataset_is_found_by_name_downloaded_and_unpacked(bucket: Bucket, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    folder = download_dataset(
        "BRD",
        tmp_path / "data",
        version="Micro",
        api=f"{bucket.address}/api",
        on_progress=lambda *at: seen.append(at),
    )
    assert check_dataset(folder) == []
    total = sum(map(len, bucket.files.values()))
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_nothing_is_downloaded_twice(bucket: Bucket, tmp_path: Path) -> None:
    options: dict[str, Any] = {"version": "Micro", "api": f"{bucket.address}/api"}
    download_dataset("BRD", tmp_path / "data", **options)
    bucket.asked.clear()
    download_dataset("44241", tmp_path / "data", **options)
    assert [path for path, _ in bucket.asked] == ["/api/data/44241", "/bucket", "/bucket", "/bucket"]


def test_a_broken_off_transfer_continues_where_it_stopped(bucket: Bucket, tmp_path: Path) -> None:
    bucket.break_off_after = 1000
    folder = download_dataset("44241", tmp_path / "data", api=f"{bucket.address}/api")
    assert check_dataset(folder) == []
    assert (f"/bucket/{PREFIX}/BRD.zip", "bytes=1000-") in bucket.asked


def test_content_that_does_not_fit_its_digest_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    bucket.wrong_digest = True
    with pytest.raises(DownloadError, match="does not fit the size or digest"):
        download_dataset("44241", tmp_path / "data", api=f"{bucket.address}/api")
    assert not list((tmp_path / "data").rglob("*.zip"))


def test_an_unknown_dataset_is_named(bucket: Bucket, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="OpenML has no dataset Meta_Album_XYZ_Mini"):
        download_dataset("XYZ", tmp_path, api=f"{bucket.address}/api")


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/passwd"])
def test_a_key_that_leaves_the_folder_is_refused(bucket: Bucket, tmp_path: Path, name: str) -> None:
    bucket.files[f"{PREFIX}/{name}"] = b"bad"
    with pytest.raises(DownloadError, match="leaves the folder"):
        download_dataset("44241", tmp_path / "data", api=f"{bucket.address}/api")


def test_an_archive_that_climbs_out_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("../../escaped.txt", "bad")
    bucket.files[f"{PREFIX}/BRD.zip"] = archive.getvalue()
    with pytest.raises(DownloadError, match="leaves the folder"):
        download_dataset("44241", tmp_path / "data", api=f"{bucket.address}/api")
    assert not list(tmp_path.rglob("escaped.txt"))


def test_without_a_network_the_command_says_so(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        data, ["download", "BRD", "--out", str(tmp_path), "--api", "http://openml.invalid/api/v1/json"]
    )
    assert done.exit_code == 3
    assert "No network connection to openml.invalid" in done.output
    assert "the same command continues" in done.output


def test_the_command_downloads(bucket: Bucket, tmp_path: Path) -> None:
    arguments = [
        "download",
        "BRD",
        "--version",
        "Micro",
        "--out",
        str(tmp_path / "d"),
        "--api",
        f"{bucket.address}/api",
    ]
    done = CliRunner().invoke(data, arguments)
    assert done.exit_code == 0, done.output
    assert "Pack it with: anyshot data pack" in done.output


def test_a_set_of_meta_album_is_its_ten_datasets(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the name that competitions call it; other names stay single datasets."""
    asked = []

    def download(name: str, *_: object, **__: object) -> Path:
        asked.append(name)
        return tmp_path

    monkeypatch.setattr(cli_data, "download_dataset", download)
    done = CliRunner().invoke(data, ["download", "set-1", "BRD"])
    assert done.exit_code == 0, done.output
    assert asked == [
        "DOG",
        "INS_2",
        "PLT_NET",
        "MED_LF",
        "PNU",
        "RSICB",
        "APL",
        "TEX_DTD",
        "ACT_40",
        "MD_5_BIS",
        "BRD",
    ]

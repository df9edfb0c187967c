"""The worker's cache of packs and submissions."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from anyshot_core.wire.worker_api import BlobRef
from anyshot_worker.workspace import Workspace


class Shelf:
    """Blobs by digest, and a count of how often each was taken."""

    def __init__(self, *contents: bytes) -> None:
        self.contents = {hashlib.sha256(c).hexdigest(): c for c in contents}
        self.taken: list[str] = []

    def fetch(self, blob: BlobRef, target: Path) -> None:
        self.taken.append(blob.digest)
        target.write_bytes(self.contents[blob.digest])

    def refs(self) -> list[BlobRef]:
        return [BlobRef(digest=d, size=len(c), url=f"/{d}") for d, c in self.contents.items()]


def test_a_blob_is_fetched_once(tmp_path: Path) -> None:
    shelf = Shelf(b"a" * 100)
    workspace = Workspace(tmp_path, 1 << 20, shelf)
    paths = [workspace.get(shelf.refs()[0], ".zip") for _ in range(3)]
    assert paths[0].read_bytes() == b"a" * 100
    assert len(shelf.taken) == 1 and len(set(paths)) == 1


def test_many_threads_fetch_a_blob_once(tmp_path: Path) -> None:
    shelf = Shelf(b"a" * 100)
    workspace = Workspace(tmp_path, 1 << 20, shelf)
    threads = [threading.Thread(target=workspace.get, args=(shelf.refs()[0],)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shelf.taken) == 1


def test_a_truncated_file_is_fetched_again(tmp_path: Path) -> None:
    shelf = Shelf(b"a" * 100)
    workspace = Workspace(tmp_path, 1 << 20, shelf)
    path = workspace.get(shelf.refs()[0])
    path.chmod(0o644)
    path.write_bytes(b"a")
    assert workspace.get(shelf.refs()[0]).read_bytes() == b"a" * 100


def test_the_least_recently_used_file_goes_first(tmp_path: Path) -> None:
    shelf = Shelf(b"a" * 100, b"b" * 100, b"c" * 100)
    workspace = Workspace(tmp_path, 250, shelf)
    first, second, third = shelf.refs()
    for age, blob in enumerate((first, second)):
        os.utime(workspace.get(blob), (age, age))
    workspace.get(first)
    workspace.get(third)
    assert set(workspace.digests()) == {first.digest, third.digest}


def test_what_was_asked_for_stays_even_over_the_limit(tmp_path: Path) -> None:
    shelf = Shelf(b"a" * 100)
    workspace = Workspace(tmp_path, 10, shelf)
    assert workspace.get(shelf.refs()[0]).exists()


def test_nothing_half_fetched_is_left(tmp_path: Path) -> None:
    class Broken(Shelf):
        def fetch(self, blob: BlobRef, target: Path) -> None:
            target.write_bytes(b"half")
            raise ConnectionError("gone")

    shelf = Broken(b"a" * 100)
    workspace = Workspace(tmp_path, 1 << 20, shelf)
    with pytest.raises(ConnectionError):
        workspace.get(shelf.refs()[0])
    assert not list(workspace.scratch.iterdir()) and not workspace.digests()

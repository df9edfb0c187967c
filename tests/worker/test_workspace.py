"""The worker's cache of packs and submissions."""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from anyshot_core.wire.worker_api import BlobRef
from anyshot_worker.workspace import ROOM, Workspace


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


def write_d(target: Path) -> None:
    target.write_bytes(b"d" * 100)


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


def test_cached_files_make_room_for_an_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk smaller than the limit of the cache, and what attempts write, which the limit does not know of."""
    shelf = Shelf(b"a" * 100, b"b" * 100, b"c" * 100)
    workspace = Workspace(tmp_path, 1 << 20, shelf)
    first, second, third = shelf.refs()
    written = [0]

    def usage(_: Path) -> SimpleNamespace:
        return SimpleNamespace(free=ROOM + 350 - 100 * len(workspace.digests()) - written[0])

    monkeypatch.setattr(shutil, "disk_usage", usage)
    with workspace.hold() as files:
        for age, blob in enumerate((first, second, third)):
            os.utime(files.get(blob), (age, age))
        assert workspace.has_room() and len(workspace.digests()) == 3
        written[0] = 100
        assert not workspace.has_room() and len(workspace.digests()) == 3, "an attempt uses them"
    assert workspace.has_room() and set(workspace.digests()) == {second.digest, third.digest}
    written[0] = 400
    assert not workspace.has_room()


def test_what_was_asked_for_stays_even_over_the_limit(tmp_path: Path) -> None:
    shelf = Shelf(b"a" * 100)
    workspace = Workspace(tmp_path, 10, shelf)
    assert workspace.get(shelf.refs()[0]).exists()


def test_all_that_an_attempt_asked_for_stays_until_it_ends(tmp_path: Path) -> None:
    """A pool may be larger than the cache, and another attempt may fill it."""
    shelf = Shelf(b"a" * 100, b"b" * 100, b"c" * 100)
    workspace = Workspace(tmp_path, 50, shelf)
    with workspace.hold() as files:
        paths = [files.get(blob) for blob in shelf.refs()[:2]]
        paths.append(files.derive("0" * 64, ".part", write_d))
        with workspace.hold() as others:
            paths.append(others.get(shelf.refs()[2]))
            assert all(path.exists() for path in paths)
        workspace.get(shelf.refs()[0])
        assert [path.exists() for path in paths] == [True, True, True, False]
    workspace.get(shelf.refs()[0])
    assert workspace.digests() == [shelf.refs()[0].digest]


def test_a_file_that_two_attempts_use_stays_until_both_have_ended(tmp_path: Path) -> None:
    shelf = Shelf(b"a" * 100, b"b" * 100)
    workspace = Workspace(tmp_path, 50, shelf)
    first, second = shelf.refs()
    with workspace.hold() as files:
        path = files.get(first)
        with workspace.hold() as others:
            others.get(first)
        workspace.get(second)
        assert path.exists()


@pytest.mark.parametrize("harm", [b"x" * 100, None])
def test_a_file_that_is_not_what_was_fetched_is_fetched_anew(tmp_path: Path, harm: bytes | None) -> None:
    """What was made from it goes too."""
    shelf = Shelf(b"a" * 100, b"b" * 100)
    workspace = Workspace(tmp_path, 1 << 20, shelf)
    first, second = shelf.refs()
    with workspace.hold() as files:
        path, derived, whole = files.get(first), files.derive("0" * 64, "", lambda _: None), files.get(second)
        assert not files.drop_damaged() and path.exists() and derived.exists()
        path.unlink()
        if harm is not None:
            path.write_bytes(harm)
        assert files.drop_damaged()
        assert not path.exists() and not derived.exists() and whole.exists()
        assert files.get(first).read_bytes() == b"a" * 100


def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a machine that loses its power keeps a file of the right size without its content."""
    shelf = Shelf(b"a" * 100)
    workspace = Workspace(tmp_path, 1 << 20, shelf)
    synced: list[tuple[int, bool]] = []
    target = workspace.path(shelf.refs()[0].digest, "")
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((os.fstat(file).st_size, target.exists())))
    workspace.get(shelf.refs()[0])
    assert synced == [(100, False)]


HOLDS = """
import sys, time
from pathlib import Path
from anyshot_worker.workspace import Workspace
made = Workspace(Path(sys.argv[1]), 1, None)
(made.scratch / "attempt-1").mkdir()
(made.scratch / "tmp-half").touch()
print(made.scratch, flush=True)
time.sleep(3600)
"""


def test_what_a_dead_worker_was_at_goes_and_what_a_living_one_is_at_stays(tmp_path: Path) -> None:
    """Workers may share the folder; one that was killed cleans nothing."""
    (tmp_path / "scratch" / "attempt-of-an-older-release").mkdir(parents=True)
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        own = Workspace(tmp_path, 1, Shelf()).scratch
        there, whole = set(own.parent.iterdir()), (theirs / "attempt-1").is_dir()
        other.kill()
    assert whole and there == {theirs, own}
    again = Workspace(tmp_path, 1, Shelf()).scratch
    assert set(own.parent.iterdir()) == {own, again}


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

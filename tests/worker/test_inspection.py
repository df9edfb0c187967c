"""Weights in a zip are found by how much a file holds, whatever it says of itself."""

import base64
import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from anyshot_core.wire.evidence import Evidence
from anyshot_worker import evidence
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from tests.services.material import BASELINES


@pytest.fixture(scope="module")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    folder = tmp_path_factory.mktemp("state")
    settings = SandboxSettings(
        sandbox="trusted", trust_all_submissions=True, state_folder=folder, pool_size=0
    )
    made = Sandboxes.from_settings(settings)
    yield made
    made.close()


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def inspect(sandboxes: Sandboxes, folder: Path, files: dict[str, bytes]) -> Evidence:
    path = folder / "submission.zip"
    path.write_bytes(zipped(files))
    found = evidence.inspect(sandboxes, path)
    assert found.complete, found.problem
    return found


def noise(size: int) -> bytes:
    """What hardly compresses, as weights do."""
    return random.Random(size).randbytes(size)


def saved(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def beside_numbers(size: int) -> bytes:
    """A `.npy` that NumPy reads as three numbers, whatever follows them."""
    return saved(np.zeros(3, np.float32)) + noise(size)


def records(size: int) -> bytes:
    """A `.npy` of ten things, each a tenth of it wide."""
    return saved(np.frombuffer(noise(size), f"V{size // 10}"))


def safetensors(size: int) -> bytes:
    """A file whose header knows of one number."""
    head = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(head)) + head + noise(size)


def source(size: int) -> bytes:
    """A module that holds its bytes as text."""
    return b"X = " + repr(base64.b64encode(noise(size))).encode()


def padded_zip(size: int) -> bytes:
    """A zip of one small file, behind bytes of which its list says nothing."""
    return noise(size) + zipped({"note.txt": b"small"})


HIDDEN = {
    "behind the numbers of an array": (
        {"mean.npy": beside_numbers(2 << 20)},
        "mean.npy has 2,097,292 bytes, more than its numbers take (numpy).",
    ),
    "in wide records": (
        {"wide.npy": records(4_000_000)},
        "wide.npy has 4,000,128 bytes, more than its numbers take (numpy).",
    ),
    "behind what a header says": (
        {"stats.safetensors": safetensors(2 << 20)},
        "stats.safetensors has 2,097,221 bytes, more than its numbers take (safetensors).",
    ),
    "in small arrays": (
        {f"mean{n}.npy": beside_numbers(16_000) for n in range(20)},
        "20 small files have 322,800 bytes together.",
    ),
    "in sources": (
        {f"table{n}.py": source(60_000 + n) for n in range(8)},
        "*.py: many bytes of source after compression, more than code has.",
    ),
    "in front of a zip": (
        {"inner.zip": padded_zip(500_000)},
        "inner.zip has 500,119 bytes that could not be read as arrays (opaque).",
    ),
}


@pytest.mark.parametrize("where", HIDDEN)
def test_weights_are_found(sandboxes: Sandboxes, tmp_path: Path, where: str) -> None:
    files, words = HIDDEN[where]
    (found,) = inspect(sandboxes, tmp_path, files).suspicious
    assert re.sub(r"py: [\d,]{7}", "py: many", found) == words


def test_small_pieces_are_counted_across_the_zips_of_a_zip(sandboxes: Sandboxes, tmp_path: Path) -> None:
    inner = {f"part{n}.zip": zipped({f"piece{n}": noise(40_000)}) for n in range(4)}
    found = inspect(sandboxes, tmp_path, inner).suspicious
    assert [line.split()[0] for line in found] == [
        name for n in range(4) for name in (f"part{n}.zip", f"part{n}.zip/piece{n}")
    ]


def test_a_library_that_a_submission_brings_along_is_clean(sandboxes: Sandboxes, tmp_path: Path) -> None:
    modules = [path.read_bytes() for path in sorted(BASELINES.glob("*/model.py"))]
    files = {f"lib/{copy}/{n}.py": code for copy in range(12) for n, code in enumerate(modules)}
    assert sum(map(len, files.values())) > 400_000
    assert inspect(sandboxes, tmp_path, files).suspicious == []

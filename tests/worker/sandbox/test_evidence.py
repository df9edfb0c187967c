"""What is found of weights that a submission brings, by looking only inside a box."""

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from anyshot_worker import evidence
from anyshot_worker.sandbox import Sandboxes
from anyshot_worker.sandbox.docker import DockerBackend

SOURCE = """import timm, torch
net = timm.create_model('resnet18', pretrained=True)
other = timm.create_model('resnet18', pretrained=False)
torch.hub.load('a/b', 'c')
"""


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ('{"files": [], "forged": true}',)


def torch_bytes(thing: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    return buffer.getvalue()


def safetensors_bytes() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [10, 20], "data_offsets": [0, 800]}}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0" * 800


@pytest.fixture
def sandboxes(docker_backend: DockerBackend) -> Iterator[Sandboxes]:
    made = Sandboxes(docker_backend, docker_backend.settings)
    yield made
    made.close()


def test_weights_and_calls_are_found(sandboxes: Sandboxes, tmp_path: Path) -> None:
    path = tmp_path / "submission.zip"
    numbers = io.BytesIO()
    np.savez(numbers, a=np.zeros((3, 4)), b=np.zeros(5))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.py", SOURCE)
        archive.writestr("net.pth", torch_bytes({"layer": {"w": torch.zeros(64, 32)}, "b": torch.zeros(7)}))
        archive.writestr("whole.pt", torch_bytes(torch.nn.Linear(30, 10)))
        archive.writestr("more.npz", numbers.getvalue())
        archive.writestr("w.safetensors", safetensors_bytes())
        archive.writestr("noise.dat", bytes(range(256)) * 2000)
        archive.writestr("bomb.pkl", pickle.dumps(Bomb()))
    found = evidence.inspect(sandboxes, path)
    files = {item.path: item for item in found.files}
    assert found.complete
    assert files["net.pth"].parameters == 64 * 32 + 7
    assert files["net.pth"].shapes[0] == "64x32"
    assert files["whole.pt"].parameters == 30 * 10 + 10
    assert files["more.npz"].parameters == 17
    assert files["w.safetensors"].parameters == 200
    assert files["noise.dat"].kind == "opaque"
    assert files["bomb.pkl"].tensors == 0
    assert {line.split()[0] for line in found.suspicious} == {"net.pth", "noise.dat", "model.py,"}
    assert found.parameters == sum(item.parameters for item in found.files)
    assert [(item.line, item.what.split("(")[0]) for item in found.code] == [
        (2, "create_model"),
        (4, "download: torch.hub.load"),
    ]


def test_a_bad_zip_is_a_finding(sandboxes: Sandboxes, tmp_path: Path) -> None:
    path = tmp_path / "submission.zip"
    path.write_bytes(b"PK nothing")
    found = evidence.inspect(sandboxes, path)
    assert not found.complete
    assert "BadZipFile" in found.problem


def test_a_forged_report_is_refused(
    sandboxes: Sandboxes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        evidence, "INSPECTOR", lambda: "import sys; sys.stdin.buffer.read(1); print('[' * 100000)"
    )
    path = tmp_path / "submission.zip"
    path.write_bytes(b"x")
    found = evidence.inspect(sandboxes, path)
    assert not found.complete and found.suspicious
    assert found.files == []

"""GPUs under Bubblewrap: which cards are its own, and what a box gets of them. Plain files stand in for devices."""

import json
import os
from pathlib import Path

import pytest

from anyshot_worker.sandbox import gpu_files
from anyshot_worker.sandbox.bubblewrap import BubblewrapBackend
from anyshot_worker.sandbox.gpu_files import CardsOfJob
from anyshot_worker.sandbox.interface import BoxSpec, SandboxError
from tests.worker.sandbox.conftest import SMALL
from tests.worker.sandbox.test_bubblewrap import bubblewrap as bubblewrap

NUMBERS = {"GPU-cccc": 0, "GPU-aaaa": 3, "GPU-bbbb": 1}  # of the device files, which are in no order
SMI = """#!/bin/sh
case "$1" in
  -L) printf 'GPU 0: NVIDIA A100 (UUID: GPU-cccc)\\n  MIG 3g.20gb     Device  0: (UUID: MIG-1111)\\n'
      printf 'GPU 1: NVIDIA A100 (UUID: GPU-aaaa)\\nGPU 2: NVIDIA A100 (UUID: GPU-bbbb)\\n' ;;
  --query-gpu=uuid) printf 'GPU-cccc\\nGPU-aaaa\\nGPU-bbbb\\n' ;;
  --query-gpu=*) for card in cccc aaaa bbbb; do echo "GPU-$card, NVIDIA A100, 40960, 0"; done ;;
esac
"""
LDCONFIG = """#!/bin/sh
cat <<END
3 libs found in cache \\`/etc/ld.so.cache'
	libnvidia-ml.so.1 (libc6,x86-64) => {folder}/libnvidia-ml.so.1
	libcuda.so.1 (libc6) => {folder}/of-32-bits
	libcuda.so.1 (libc6,x86-64) => {folder}/libcuda.so.1
	libnvidia-glcore.so.535.1 (libc6,x86-64) => {folder}/libnvidia-glcore.so.535.1
	libc.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libc.so.6
END
"""
SEEN = """
import json, os, pathlib
inside = pathlib.Path("/usr/local/nvidia")
try:
    (inside / "libcuda.so.1").write_text("another")
except OSError:
    pass
try:
    (inside / "more").write_text("more")
except OSError:
    pass
print(json.dumps({
    "devices": {name: open(f"/dev/{name}").read() for name in sorted(os.listdir("/dev")) if "nvidia" in name},
    "libraries": {path.name: path.read_text() for path in sorted(inside.iterdir())},
    "searched": os.environ["LD_LIBRARY_PATH"],
}), flush=True)
"""


@pytest.fixture
def machine(bubblewrap: BubblewrapBackend, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three cards, of which one is cut into slices, in a folder that boxes can reach."""
    folder = bubblewrap.settings.state_folder / "stand-ins"
    for name, number in NUMBERS.items():
        (folder / "cards" / name).mkdir(parents=True, exist_ok=True)
        text = (
            f"Model: \t NVIDIA A100\nGPU UUID: \t {name}\nDMA Size: \t 47 bits\nDevice Minor: \t {number}\n"
        )
        (folder / "cards" / name / "information").write_text(text)
    files = {f"nvidia{number}": name for name, number in NUMBERS.items()}
    files |= {"nvidiactl": "control", "nvidia-uvm": "memory", "nvidia-modeset": "pictures"}
    files |= dict.fromkeys(
        ("libcuda.so.535.1", "libnvidia-ml.so.1", "libnvidia-glcore.so.535.1"), "the driver's"
    )
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o666)
    (folder / "libcuda.so.1").unlink(missing_ok=True)
    (folder / "libcuda.so.1").symlink_to("libcuda.so.535.1")
    for name, text in {"nvidia-smi": SMI, "ldconfig": LDCONFIG.format(folder=folder)}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setattr(gpu_files, "DEVICES", folder)
    monkeypatch.setattr(gpu_files, "CARDS", folder / "cards")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.mark.parametrize(
    ("told", "cards"),
    [
        ({}, ["GPU-aaaa", "GPU-bbbb"]),
        ({"CUDA_VISIBLE_DEVICES": "0,2", "SLURM_JOB_GPUS": "3"}, ["GPU-bbbb"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-aaaa"}, ["GPU-aaaa"]),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"SLURM_JOB_GPUS": "3,0"}, ["GPU-aaaa"]),
    ],
)
def test_a_job_has_the_whole_cards_that_slurm_gave_it(
    machine: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, str], cards: list[str]
) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert [gpu.uuid for gpu in CardsOfJob().list()] == cards


def test_a_box_has_its_own_cards_and_the_drivers_libraries_read_only(
    bubblewrap: BubblewrapBackend, machine: Path
) -> None:
    box = bubblewrap.start(BoxSpec("cpu", SMALL, ("-I", "-c", SEEN), gpu_ids=("GPU-bbbb",)))
    try:
        said = b""
        while not said.endswith(b"\n"):
            said += box.recv(30) or pytest.fail(box.death().detail)
    finally:
        box.close()
    assert json.loads(said) == {
        "devices": {"nvidia-uvm": "memory", "nvidia1": "GPU-bbbb", "nvidiactl": "control"},
        "libraries": {"libcuda.so.1": "the driver's", "libnvidia-ml.so.1": "the driver's"},
        "searched": "/usr/local/nvidia",
    }


def test_a_box_does_not_start_without_its_card(bubblewrap: BubblewrapBackend, machine: Path) -> None:
    with pytest.raises(SandboxError, match="no device file of GPU-gone is known"):
        bubblewrap.start(BoxSpec("cpu", SMALL, gpu_ids=("GPU-gone",)))


def test_a_folder_says_for_which_devices_it_was_built(bubblewrap: BubblewrapBackend, tmp_path: Path) -> None:
    backend = BubblewrapBackend(bubblewrap.settings.model_copy(update={"images_folder": tmp_path}))
    for flavour in ("cpu", "gpu"):
        bill = tmp_path / f"root-{flavour}" / "usr/share/anyshot/sbom.json"
        bill.parent.mkdir(parents=True)
        bill.write_text(json.dumps({"metadata": {"component": {"name": f"anyshot-sandbox-{flavour}"}}}))
    for flavour in ("cpu", "gpu"):
        image = backend.prepare(flavour)
        assert (Path(image.name).name, image.labels) == (f"root-{flavour}", {"org.anyshot.flavour": flavour})

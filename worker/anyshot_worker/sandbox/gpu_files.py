"""GPUs without a container runtime: device files and the driver's libraries, as NVIDIA's container library gives them.

A box gets the files of its own cards, and those that every program needs; it can open no other card. Slices (MIG) are
not handed on: they have device files of another kind.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox.gpu import Gpu, NvidiaDevices
from anyshot_worker.sandbox.interface import SandboxError

DEVICES = Path("/dev")
CARDS = Path("/proc/driver/nvidia/gpus")  # a folder a card, in which `information` has its UUID and number
FOR_ALL = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
LIBRARIES_INSIDE = "/usr/local/nvidia"
# Of the driver's libraries those for computing and for `nvidia-smi`; what draws pictures stays out.
LIBRARY = re.compile(
    r"^\s*(?P<name>lib(?:cuda|cudadebugger|nvidia-(?:ml|cfg|ptxjitcompiler|nvvm|gpucomp|allocator|pkcs11[^.]*))\.so[.\d]*)"
    r" \([^)]*x86-64[^)]*\) => (?P<path>/\S+)$",
    re.MULTILINE,
)
INFORMATION = re.compile(r"GPU UUID:\s*(?P<uuid>\S+).*Device Minor:\s*(?P<minor>\d+)", re.DOTALL)


class CardsOfJob(NvidiaDevices):
    """Whole cards that have a device file; of a Slurm job those that it was given."""

    def list(self) -> list[Gpu]:
        numbers = _numbers()
        cards = [gpu for gpu in super().list() if gpu.uuid in numbers]
        # Counted among those that the job sees, or named; else by the number of the device file, whatever it sees.
        if (seen := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
            places = {uuid: str(at) for at, uuid in enumerate(self._ask("--query-gpu=uuid"))}
            return [gpu for gpu in cards if {places.get(gpu.uuid), gpu.uuid} & set(seen.split(","))]
        if (given := os.environ.get("SLURM_JOB_GPUS")) is not None:
            return [gpu for gpu in cards if str(numbers[gpu.uuid]) in given.split(",")]
        return cards


def gpu_arguments(uuids: Sequence[str], root: Path) -> list[str]:
    """Options of `bwrap` that bring these cards into a box on the image folder `root`.

    Raises SandboxError for a card without a device file.
    """
    numbers = _numbers()
    if missing := [uuid for uuid in uuids if uuid not in numbers]:
        raise SandboxError(f"no device file of {missing[0]} is known", Verdict.SANDBOX_START)
    (root / LIBRARIES_INSIDE.lstrip("/")).mkdir(exist_ok=True)
    options: list[str] = []
    for name in (*FOR_ALL, *(f"nvidia{numbers[uuid]}" for uuid in uuids)):
        if (DEVICES / name).exists():
            options += ["--dev-bind", str(DEVICES / name), f"/dev/{name}"]
    options += ["--tmpfs", LIBRARIES_INSIDE]
    for name, path in _libraries().items():
        options += ["--ro-bind", os.path.realpath(path), f"{LIBRARIES_INSIDE}/{name}"]
    options += ["--remount-ro", LIBRARIES_INSIDE]
    for variable in ("LD_LIBRARY_PATH", "TRITON_LIBCUDA_PATH"):
        options += ["--setenv", variable, LIBRARIES_INSIDE]
    return options


def _numbers() -> dict[str, int]:
    """The number in the name of each card's device file, by UUID."""
    texts = [path.read_text() for path in sorted(CARDS.glob("*/information"))]
    return {match["uuid"]: int(match["minor"]) for text in texts if (match := INFORMATION.search(text))}


def _libraries() -> dict[str, str]:
    """Where this machine has the driver's libraries, by the name under which programs load them."""
    program = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    asked = subprocess.run([program or "ldconfig", "-p"], capture_output=True, text=True)
    return {match["name"]: match["path"] for match in LIBRARY.finditer(asked.stdout)}

"""What an image is made of, and the key that says whether it has been made already."""

import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from anyshot_worker.images.own_packages import inside_files, package_folders

Flavour = Literal["cpu", "gpu"]

PYTHON = "3.11"  # what Debian 12 has; wheels are chosen for it
SUITE = "bookworm"
DEBIAN = (
    *("python3-minimal", "libpython3-stdlib", "libgomp1", "libstdc++6", "zlib1g"),
    *("g++", "libpython3.11-dev"),  # torch.compile and Triton build code when a submission runs
)
UIDS = range(20000, 20064)  # each needs a line in /etc/passwd, or torch's caches fail
TORCH = "torch==2.15.0"  # where no CPU build is at hand
CPU_WHEEL = re.compile(r"torch-(?P<version>[0-9.]+\+cpu)-cp311-cp311-[a-z0-9_]*linux[a-z0-9_]*x86_64\.whl")
PINS = (
    "torchvision",  # its own metadata ties it to one version of torch
    "timm==1.0.31",
    "numpy==2.4.6",
    "scipy==1.17.1",
    "scikit-learn==1.9.1",
    "pandas==3.1.1",
    "pillow==13.0.0",
    "tqdm==4.70.1",
    "POT==0.9.7.post1",
    "cython==3.3.1",
    "requests==2.34.2",
    "pytorch-metric-learning==2.9.0",
    "matplotlib==3.11.2",
    "einops==0.8.2",
    "opencv-python-headless==5.0.0.93",
    "kornia==0.9.0",
    "torchmetrics==1.9.0",
    "higher==0.2.1",
    "numba==0.68.1",
    "albumentations==2.0.8",
    # learn2learn is absent: it has no wheel, and qpth, which it needs, has none either and does not build.
    # what the starting kit itself stands on
    "pyarrow==26.0.1",
    "pydantic==2.14.3",
    "click==8.5.1",
    "httpx==0.28.1",
    "jinja2==3.1.6",
    "rich==15.0.0",
)
IMPORTED = (
    "torch, torch.utils.data, torch.nn.functional, torchvision, torchvision.transforms, timm, numpy, scipy.stats,"
    " scipy.spatial, sklearn.linear_model, sklearn.cluster, pandas, PIL.Image, tqdm, ot, requests,"
    " pytorch_metric_learning, pydantic, pyarrow, torch._inductor.compile_fx, torch._inductor.cpp_builder, einops, cv2,"
    " kornia, torchmetrics, higher, numba, albumentations"
)


@dataclass(frozen=True)
class Recipe:
    """The inputs of a base image; equal recipes make equal images."""

    flavour: Flavour
    torch: str
    find_links: tuple[str, ...] = ()
    suite: str = SUITE
    debian: tuple[str, ...] = DEBIAN
    pins: tuple[str, ...] = PINS
    version: int = 8  # raise it when the way of building changes

    @property
    def key(self) -> str:
        """Twelve hex digits; where wheels were found does not count, which they are does."""
        inputs = asdict(self)
        inputs.pop("find_links")
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]


def choose_recipe(flavour: Flavour, wheelhouse: str = "") -> Recipe:
    """A CPU build of torch where the wheelhouse has one; else, and for GPUs, the plain index's, which brings CUDA."""
    links = tuple(wheelhouse.split()) or pip_find_links()
    cpu = [version for link in links for version in _cpu_builds(Path(link))] if flavour == "cpu" else []
    torch = f"torch=={max(cpu, key=_numbers)}" if cpu else TORCH
    return Recipe(flavour, torch, links)


def pip_find_links() -> tuple[str, ...]:
    """Where this machine's pip is told to look for wheels first; other installers do not read that."""
    if "PIP_FIND_LINKS" in os.environ:
        return tuple(os.environ["PIP_FIND_LINKS"].split())
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.find-links"], capture_output=True, text=True
    )
    return tuple(asked.stdout.split()) if asked.returncode == 0 else ()


def layer_key(base: str) -> str:
    """Twelve hex digits over the base and every file of ours in the image."""
    digest = hashlib.sha256(base.encode())
    for name, folder in sorted(package_folders().items()):
        for path in inside_files(name):
            digest.update(
                f"{name}/{path.relative_to(folder)}\0".encode() + hashlib.sha256(path.read_bytes()).digest()
            )
    return digest.hexdigest()[:12]


def _cpu_builds(folder: Path) -> list[str]:
    found = (CPU_WHEEL.fullmatch(path.name) for path in folder.glob("torch-*.whl")) if folder.is_dir() else ()
    return [match["version"] for match in found if match]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("+")[0].split("."))

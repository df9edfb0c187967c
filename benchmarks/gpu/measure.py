"""What is measured, part by part; runs in the environment that `benchmarks.gpu.carried` makes."""

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from anyshot_core.data.pack import Pack, pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.demo_data import DATASETS, make_demo_data
from benchmarks import figures as kept
from benchmarks.figures import Figure, figure, keep
from benchmarks.gpu import datapath, devices, limits, training


@dataclass(frozen=True)
class Place:
    """Where and how much to measure."""

    device: torch.device
    pool: Pool
    folder: Path
    tiny: bool

    def count(self, full: int, tiny: int) -> int:
        """How many of something."""
        return tiny if self.tiny else full


PARTS: dict[str, Callable[[Place], list[Figure]]] = {
    "leases": devices.measure,  # first, and boxes next: a device that this process is on is lent to nobody
    "sandbox": limits.boxed,
    "memory limits": limits.measure,
    "data path": datapath.measure,
    "training": training.measure,
    "determinism": training.repeat,
}


def main() -> int:
    """All parts that begin in time; 1 if a figure falls short or a part was left out."""
    device, seconds, *words = sys.argv[1:]
    began, made, left_out, not_tried = time.monotonic(), [], [], []
    for word in words:
        if word.startswith("results="):
            kept.RESULTS = Path(word.removeprefix("results="))
    with tempfile.TemporaryDirectory() as folder:
        place = Place(
            torch.device(device), make_pool(Path(folder), "tiny" in words), Path(folder), "tiny" in words
        )
        for name, part in PARTS.items():
            if time.monotonic() - began > float(seconds):
                left_out.append(name)
                continue
            print(f"== {name}", flush=True)
            found = part(place)
            made += found
            not_tried += [] if found else [name]
    took = time.monotonic() - began
    made.append(figure("all of it", took, "s", "<= 480", took <= 480))
    if left_out:
        print(f"Left out, because the time was over: {', '.join(left_out)}")
    keep(
        "gpu",
        made,
        f"{describe(place.device)}; torch {torch.__version__}",
        left_out=left_out,
        not_tried=not_tried,
    )
    return int(bool(left_out) or any(one.met is False for one in made))


def make_pool(folder: Path, tiny: bool) -> Pool:
    """Generated datasets of 128 x 128 pixels."""
    names = tuple(one.name for one in DATASETS[: 1 if tiny else 6])
    data = make_demo_data(
        folder / "data", classes=6 if tiny else 20, images=31 if tiny else 40, datasets=names
    )
    return Pool([Pack.open(pack_dataset(data / name, folder / "packs").path) for name in names])


def describe(device: torch.device) -> str:
    """The device in words."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "the processor, in place of a GPU"


if __name__ == "__main__":
    sys.exit(main())

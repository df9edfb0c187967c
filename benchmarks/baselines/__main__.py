"""`python -m benchmarks.baselines`: which tables and figures of the papers are reproduced, and the speed of training.

The list is that of `anyshot reproduce`. The speed is that of prototypical training, ours and in the manner of 2022.
On all cores, by the wall clock, with images of 128 x 128 as the competition of 2022 had them, or shrunk first.
"""

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np

from anyshot_core.data.pack import pack_dataset
from anyshot_core.demo_data import make_demo_data
from anyshot_core.taskserver.tuning import TUNING, runner_environment
from anyshot_starting_kit.training import MetricSettings
from anyshot_studies.reproduce.papers import as_lines
from benchmarks.baselines.throughput import apart, measure_ours, measure_theirs
from benchmarks.figures import Figure, figure, keep
from benchmarks.rates import Rate

NAMES = ("OCR_LAT", "SHP_FIL")
BOX = runner_environment(os.cpu_count() or 1)
UNTUNED = {name: value for name, value in BOX.items() if name not in TUNING}
PEER = "manner of 2022"
OURS = {
    "float32": (BOX, measure_ours, "float32"),
    "bfloat16": (BOX, measure_ours, "bfloat16"),
    "float32 outside a box": (UNTUNED, measure_ours, "float32"),
}
KINDS = {**OURS, PEER: (UNTUNED, measure_theirs, "float32")}


def measure_side(packs: Path, side: int, tasks: int, rounds: int, kinds: list[str]) -> list[Figure]:
    """Images shrunk to `side` pixels, and as many more tasks: in turns, so that a busy machine is busy for all."""
    pool = 128 // side
    shape = {"backbone": "conv4", "stem_pool": pool, "iterations": tasks * pool**2, "batch_statistics": True}
    found: dict[str, list[Rate]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, speeds in found.items():
            environment, measure, precision = KINDS[name]
            settings = MetricSettings.from_dict({**shape, "precision": precision})
            speeds.append(apart(environment, measure, packs, settings))
    figures = []
    for name, speeds in found.items():
        title = f"prototypical {side} px, {name}"
        figures.append(figure(title, float(np.median([one.wall for one in speeds])), "tasks/s"))
        if name != PEER:
            pairs = list(zip(speeds, found[PEER], strict=True))
            wall = float(np.median([ours.wall / theirs.wall for ours, theirs in pairs]))
            processor = float(np.median([ours.processor / theirs.processor for ours, theirs in pairs]))
            target = (">= 2", wall >= 2) if (name, side) == ("float32", 128) else ("", None)
            figures.append(figure(f"{title}, ratio", wall, "x", *target))
            figures.append(figure(f"{title}, ratio by CPU seconds", processor, "x"))
    return figures


def main() -> None:
    """Print the papers' tables and figures, then measure: the median of the ratios of interleaved rounds counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=3, help="at 128 pixels")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sides", type=int, nargs="+", default=[32, 128], help="pixels, divisors of 128")
    parser.add_argument("--kinds", nargs="+", choices=OURS, default=[*OURS])
    wanted = parser.parse_args()
    print("\n".join(as_lines()), flush=True)
    figures: list[Figure] = []
    notes = "Conv-4 of width 64, 5-way 10-shot, 20 query images a class, all cores, generated data."
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data = make_demo_data(folder / "data", classes=10, images=40, datasets=NAMES)
        for name in NAMES:
            pack_dataset(data / name, folder / "packs")
        for side in wanted.sides:
            figures += measure_side(
                folder / "packs", side, wanted.tasks, wanted.rounds, [*wanted.kinds, PEER]
            )
    keep("baselines", figures, f"{notes} {os.cpu_count()} cores.", partly=True)


if __name__ == "__main__":
    main()

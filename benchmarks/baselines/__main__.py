"""`python -m benchmarks.baselines`: tasks a CPU second of prototypical training, ours and in the manner of 2022."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from anyshot_starting_kit.bundle.config import EpisodeConfig, SubmissionConfig
from anyshot_starting_kit.data.pack import pack_dataset
from anyshot_starting_kit.data.pool import Pool
from anyshot_starting_kit.demo_data import make_demo_data
from anyshot_starting_kit.networks.backbones import PRECISIONS
from anyshot_starting_kit.networks.heads import negative_squared_distances, prototypes
from anyshot_starting_kit.runner.generators import make_generators
from anyshot_starting_kit.training import EpisodicModel, Settings, train_on_tasks
from benchmarks.baselines import manner_of_2022
from benchmarks.figures import Figure, figure, keep

EPISODES = EpisodeConfig(ways=5, shots=10, query_images_per_class=20)  # as the competition paper trains
NAMES = ("OCR_LAT", "SHP_FIL")


class _Prototypes(torch.nn.Module):
    def forward(
        self, support: torch.Tensor, labels: torch.Tensor, queries: torch.Tensor, ways: int
    ) -> torch.Tensor:
        return negative_squared_distances(queries, prototypes(support, labels, ways))


def measure_ours(pool: Pool, settings: Settings) -> float:
    """Tasks a CPU second through our generator and loop."""
    data = make_generators(pool, SubmissionConfig(train=EPISODES), 93, hide_names=True)
    model = EpisodicModel(settings, _Prototypes())
    started = time.process_time()
    train_on_tasks(model, data.train, None, settings, lambda *_, **__: None)
    return settings.iterations / (time.process_time() - started)


def measure_theirs(pool: Pool, folder: Path, settings: Settings) -> float:
    """Tasks a CPU second in the manner of 2022, on the same tasks."""
    paths = manner_of_2022.write_images(pool, folder)
    supply = manner_of_2022.tasks(pool, paths, EPISODES.to_dict(), 93)
    started = time.process_time()
    with contextlib.closing(supply):
        manner_of_2022.train(supply, settings.iterations, settings.width, settings.stem_pool)
    return settings.iterations / (time.process_time() - started)


def measure_side(pool: Pool, folder: Path, side: int, tasks: int, rounds: int) -> list[Figure]:
    """Images shrunk to `side` pixels: in turns, so that a busy machine is busy for all."""
    shape = {"backbone": "conv4", "stem_pool": 128 // side, "iterations": tasks, "batch_statistics": True}
    found: dict[str, list[float]] = {name: [] for name in (*PRECISIONS, "manner of 2022")}
    for number in range(rounds):
        for precision in PRECISIONS:
            found[precision].append(measure_ours(pool, Settings.from_dict({**shape, "precision": precision})))
        files = folder / f"files-{side}-{number}"
        files.mkdir()
        found["manner of 2022"].append(measure_theirs(pool, files, Settings.from_dict(shape)))
    theirs = found["manner of 2022"]
    ratios = {
        name: float(np.median([a / b for a, b in zip(found[name], theirs, strict=True)]))
        for name in PRECISIONS
    }
    speeds = [
        figure(f"prototypical {side} px, {n}", float(np.median(v)), "tasks/CPU-s") for n, v in found.items()
    ]
    return speeds + [
        figure(f"prototypical {side} px, {name}, ratio", ratio, "x", ">= 2", ratio >= 2)
        for name, ratio in ratios.items()
    ]


def main() -> None:
    """The median of the ratios of interleaved rounds counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sides", type=int, nargs="+", default=[32, 128], help="pixels, divisors of 128")
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    figures, notes = (
        [],
        "Conv-4 of width 64, 5-way 10-shot, 20 query images a class, one thread, generated data.",
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data = make_demo_data(folder / "data", classes=10, images=40, datasets=NAMES)
        pool = Pool([pack_dataset(data / name, folder / "packs") for name in NAMES])
        for side in wanted.sides:
            figures += measure_side(pool, folder, side, wanted.tasks, wanted.rounds)
    keep("baselines", figures, f"{notes} {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()

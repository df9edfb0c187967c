"""`python -m benchmarks.baselines`: tasks a second of prototypical meta-training, ours and in the manner of 2022."""

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
from anyshot_starting_kit.networks.heads import negative_squared_distances, prototypes
from anyshot_starting_kit.runner.generators import make_generators
from anyshot_starting_kit.training import EpisodicModel, Settings, train_on_tasks
from benchmarks.baselines import manner_of_2022
from benchmarks.figures import figure, keep

EPISODES = EpisodeConfig(ways=5, shots=10, query_images_per_class=20)  # as the competition paper trains
NAMES = ("OCR_LAT", "SHP_FIL")


class _Prototypes(torch.nn.Module):
    def forward(
        self, support: torch.Tensor, labels: torch.Tensor, queries: torch.Tensor, ways: int
    ) -> torch.Tensor:
        return negative_squared_distances(queries, prototypes(support, labels, ways))


def measure_ours(pool: Pool, settings: Settings) -> float:
    """Tasks a second through our generator and loop."""
    data = make_generators(pool, SubmissionConfig(train=EPISODES), 93, hide_names=True)
    model = EpisodicModel(settings, _Prototypes())
    started = time.perf_counter()
    train_on_tasks(model, data.train, None, settings, lambda *_, **__: None)
    return settings.iterations / (time.perf_counter() - started)


def measure_theirs(pool: Pool, folder: Path, settings: Settings) -> float:
    """Tasks a second in the manner of 2022, on the same tasks."""
    paths = manner_of_2022.write_images(pool, folder)
    supply = manner_of_2022.tasks(pool, paths, EPISODES.to_dict(), 93)
    started = time.perf_counter()
    with contextlib.closing(supply) if hasattr(supply, "close") else contextlib.nullcontext():
        manner_of_2022.train(supply, settings.iterations, settings.width, settings.stem_pool)
    return settings.iterations / (time.perf_counter() - started)


def main() -> None:
    """Measure in turns, so that a busy machine is busy for both; the median of the ratios counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
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
        for stem_pool in (4, 1):
            settings = Settings(
                backbone="conv4", stem_pool=stem_pool, iterations=wanted.tasks, batch_statistics=True
            )
            pairs = []
            for number in range(wanted.rounds):
                files = folder / f"files-{stem_pool}-{number}"
                files.mkdir()
                pairs.append((measure_ours(pool, settings), measure_theirs(pool, files, settings)))
            ours, theirs = np.median([p[0] for p in pairs]), np.median([p[1] for p in pairs])
            ratio = float(np.median([a / b for a, b in pairs]))
            side = 128 // stem_pool
            figures += [
                figure(f"prototypical {side} px, ours", float(ours), "tasks/s"),
                figure(f"prototypical {side} px, manner of 2022", float(theirs), "tasks/s"),
                figure(f"prototypical {side} px, ratio", ratio, "x", ">= 2", ratio >= 2),
            ]
    keep("baselines", figures, f"{notes} {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()

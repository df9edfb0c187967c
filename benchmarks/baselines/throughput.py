"""The speed of prototypical training, each way in a process of its own."""

import contextlib
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import torch

from anyshot_core.bundle.config import EpisodeConfig, SubmissionConfig
from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.taskserver.tuning import runner_environment
from anyshot_starting_kit.networks.heads import negative_squared_distances, prototypes
from anyshot_starting_kit.runner.generators import make_generators
from anyshot_starting_kit.training import EpisodicModel, MetricSettings, train_on_tasks
from benchmarks.baselines import manner_of_2022
from benchmarks.rates import Rate

EPISODES = EpisodeConfig(ways=5, shots=10, query_images_per_class=20)  # as the competition paper trains
Measure = Callable[[Path, MetricSettings], Rate]


class _Prototypes(torch.nn.Module):
    def forward(
        self, support: torch.Tensor, labels: torch.Tensor, queries: torch.Tensor, ways: int
    ) -> torch.Tensor:
        return negative_squared_distances(queries, prototypes(support, labels, ways))


def measure_ours(packs: Path, settings: MetricSettings) -> Rate:
    """Tasks through our generator and loop."""
    data = make_generators(_pool(packs), SubmissionConfig(train=EPISODES), 93, hide_names=True)
    model = EpisodicModel(settings, _Prototypes())

    def work() -> int:
        train_on_tasks(model, data.train, None, settings, lambda *_, **__: None)
        return settings.iterations

    return Rate.of(work)


def measure_theirs(packs: Path, settings: MetricSettings) -> Rate:
    """Tasks in the manner of 2022, the same ones."""
    pool = _pool(packs)
    with tempfile.TemporaryDirectory() as folder:
        paths = manner_of_2022.write_images(pool, Path(folder))
        supply = manner_of_2022.tasks(pool, paths, EPISODES.to_dict(), 93)

        def work() -> int:
            manner_of_2022.train(supply, settings.iterations, settings.width, settings.stem_pool)
            return settings.iterations

        with contextlib.closing(supply):
            return Rate.of(work)


def _pool(packs: Path) -> Pool:
    return Pool([Pack.open(path, verify=False) for path in sorted(packs.iterdir())])


def apart(environment: dict[str, str], measure: Measure, packs: Path, settings: MetricSettings) -> Rate:
    """Measure in a process of its own, with this environment in place of a box's, once it is warm."""
    with mock.patch.dict(os.environ):
        for name in runner_environment(1):
            os.environ.pop(name, None)
        os.environ.update(environment)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            warm_up = replace(settings, iterations=max(1, settings.iterations // 4))
            process.submit(measure, packs, warm_up).result()
            return process.submit(measure, packs, settings).result()

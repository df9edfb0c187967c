"""Prints one line a figure; times are CPU seconds of one thread unless the name says otherwise."""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import timm
import torch

from anyshot_analysis.diversity.coefficient import diversity
from anyshot_analysis.diversity.distance import task2vec_distances
from anyshot_analysis.diversity.task2vec import embed_task
from anyshot_analysis.episodes import draw_episodes, prototype_hits
from anyshot_analysis.features import Features, FrozenBackbone, extract_pack
from anyshot_analysis.flips.novel_classes import flip_over_class_draws, nearest_mean_methods
from anyshot_analysis.jobs import run
from anyshot_analysis.representations import compare
from anyshot_core.data.pack import Pack, pack_dataset
from anyshot_core.demo_data import make_demo_data
from anyshot_core.results import write_results
from anyshot_scoring.table import TaskTable
from benchmarks.figures import Figure, figure, keep


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def make_features(classes: int = 64, images: int = 40, width: int = 64) -> Features:
    """Cached features of a made-up pool."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(classes), images)
    values = rng.normal(size=(classes, width))[labels] + 2 * rng.normal(size=(len(labels), width))
    return Features(values.astype(np.float32), labels, ("made up",) * classes)


def measure_representations() -> Figure:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20_000, 512)), rng.normal(size=(20_000, 512))
    seconds = cpu_seconds(lambda: compare(x, y))
    return figure("all distances of two 20,000 x 512 layers", seconds, "s", "< 10", seconds < 10)


def measure_task2vec() -> list[Figure]:
    network = timm.create_model("resnet18", pretrained=False, num_classes=0)
    images, labels = torch.rand(100, 3, 84, 84), np.arange(100) % 5
    seconds = cpu_seconds(lambda: embed_task(network, images, labels))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return [
        figure("Task2Vec, ResNet-18, 84 px, 100 images, exact", seconds, "CPU-s", "< 40", seconds < 40),
        figure("peak memory of the process after it", peak, "GB", "< 3", peak < 3),
    ]


def measure_diversity() -> Figure:
    embeddings = np.random.default_rng(0).random((500, 9600))
    seconds = cpu_seconds(lambda: diversity(task2vec_distances(embeddings)))
    return figure("diversity of 500 tasks from embeddings of ResNet-18", seconds, "s", "< 5", seconds < 5)


def measure_episodes(features: Features) -> Figure:
    seconds = cpu_seconds(
        lambda: prototype_hits(features.values, draw_episodes(features, 5, 5, 15, 20_000, 0))
    )
    return figure(
        "20,000 prototype episodes, 64-d features, drawn and scored", seconds, "s", "< 2", seconds < 2
    )


def measure_flips(features: Features) -> Figure:
    methods = nearest_mean_methods(features)
    seconds = cpu_seconds(lambda: flip_over_class_draws(features, methods, 20, draws=10_000, tasks_a_draw=10))
    return figure("10,000 class subsets x 2 methods, 10 tasks each", seconds, "s", "< 60", seconds < 60)


def make_table(rng: np.random.Generator, skill: float, tasks: int = 6000) -> TaskTable:
    """A submission's made-up results."""
    score = np.clip(rng.normal(skill, 0.15, tasks), -0.2, 1)
    datasets = np.array([f"DATA_{i % 10}" for i in range(tasks)])
    names = (
        "normalized_accuracy",
        "balanced_accuracy",
        "accuracy",
        "macro_f1",
        "macro_precision",
        "macro_recall",
    )
    return TaskTable.from_columns(
        {
            "task": np.arange(tasks), "dataset": datasets, "domain": datasets,
            "ways": np.tile(np.arange(2, 22), tasks // 20), "shots": np.tile(np.arange(1, 21), tasks // 20),
            "queries": np.full(tasks, 100), **dict.fromkeys(names, score),
            "fit_seconds": np.zeros(tasks), "predict_seconds": np.zeros(tasks),
        }
    )  # fmt: skip


def measure_page(folder: Path) -> Figure:
    rng, paths = np.random.default_rng(0), []
    for number in range(30):
        path = folder / f"entry{number}.parquet"
        write_results(
            path, make_table(rng, 0.4 + 0.005 * number), {"submission": f"entry {number}", "tasks": 6000}
        )
        paths.append(path)
    start = time.perf_counter()
    run("flips", {"results": paths}, {"replicates": 2000}, folder / "page")
    seconds = time.perf_counter() - start
    return figure("page of a phase, 30 submissions x 6,000 tasks (wall)", seconds, "s", "< 60", seconds < 60)


def measure_cache(folder: Path) -> Figure:
    """The best of three interleaved rounds of either side, so that a busy machine hits both alike."""
    make_demo_data(folder / "demo")
    source = next(p.parent for p in sorted((folder / "demo").glob("*/labels.csv")))
    pack: Pack = pack_dataset(source, folder)
    backbone = FrozenBackbone(timm.create_model("resnet18", pretrained=False, num_classes=0).eval(), 84)
    batch = backbone.prepare(pack.images[:32])

    def forward() -> None:
        with torch.inference_mode():
            for start in range(0, len(pack), 32):
                backbone.network(batch[: min(32, len(pack) - start)])

    ratios = []
    for number in range(3):
        plain = cpu_seconds(forward)
        ratios.append(
            plain / cpu_seconds(lambda n=number: extract_pack(pack, backbone, folder / f"cache{n}"))
        )
    ratio = float(max(ratios))
    return figure(
        "feature cache against the backbone's own forward pass", ratio, "ratio", ">= 0.90", ratio >= 0.9
    )


def parts(folder: Path) -> dict[str, Callable[[], Sequence[Figure]]]:
    """What can be measured by itself, quickest first."""
    features = make_features()
    return {
        "episodes": lambda: [measure_episodes(features)],
        "diversity": lambda: [measure_diversity()],
        "representations": lambda: [measure_representations()],
        "task2vec": measure_task2vec,
        "page": lambda: [measure_page(folder)],
        "flips": lambda: [measure_flips(features)],
        "cache": lambda: [measure_cache(folder)],
    }


def main() -> None:
    """Each part is kept when it is done; figures of parts that are not run stay as they were."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        work = parts(Path(name))
        parser = argparse.ArgumentParser()
        parser.add_argument("--only", nargs="+", choices=list(work), default=list(work), metavar="PART")
        for part in parser.parse_args().only:
            notes = "CPU seconds of one thread on a busy machine of 2 cores"
            keep("science", list(work[part]()), notes, partly=True)


if __name__ == "__main__":
    main()

"""`python -m benchmarks.episodes`: every figure that episodes must reach.

All are ratios within one run. `--data FOLDER` adds real datasets in Meta-Album's format to the generated ones for
streaming; packing is always measured on 10,000 generated JPEGs.
"""

import argparse
import os
import random
import shutil
import tempfile
import time
from pathlib import Path

import torch

from anyshot_core.data.block_workers import BlockWorkers
from anyshot_core.data.images import IMAGE_BYTES
from anyshot_core.data.pack import Pack
from anyshot_core.data.packing import pack_folder
from anyshot_core.data.pool import Pool
from anyshot_core.data.series import pack_series
from anyshot_core.protocols import AnyWayAnyShot, Legacy
from benchmarks.episodes.decoding import decode_all
from benchmarks.episodes.material import forget, image_files, jpeg_datasets
from benchmarks.episodes.memory import LARGEST_TASK, growth
from benchmarks.episodes.streaming import SEED, Round, byte_images, median, one_round, peer_images
from benchmarks.episodes.through_runner import pass_tasks
from benchmarks.figures import Figure, figure, keep
from benchmarks.rates import Rate

MIB = 1 << 20
SHIFT = "ANYSHOT_BENCHMARK_SHIFT"
RUN = 1000  # tasks of a stream and of a run end to end: a feedback run's; the first few pay for fresh memory


def main() -> None:
    """Run all measurements and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where generated data is kept between runs")
    parser.add_argument("--data", type=Path, help="real datasets to stream from, too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--packing-rounds", type=int, default=15)
    parser.add_argument("--tasks", type=int, default=RUN, help="tasks a round; the peer gets a twelfth")
    parser.add_argument(
        "--sandbox", action="append", default=[], help="also through this sandbox: docker, bubblewrap"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)  # two would only wait for each other over the peer's small images
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        sets = jpeg_datasets(folder / "sets")
        figures = measure_packing(sets, folder, options.packing_rounds)
        if options.data:
            sets = sets + sorted(path.parent for path in options.data.glob("*/labels.csv"))
        pool = Pool(Pack.open(pack_folder(one, folder / "packs"), verify=False) for one in sets)
        files = image_files(sets)
        protocol = AnyWayAnyShot()
        rounds = [one_round(pool, files, protocol, number, options.tasks) for number in range(options.rounds)]
        figures += streaming_figures(rounds)
        figures += measure_cold(pool, files)
        figures += measure_memory(pool)
        figures += measure_addressing(pool)
        figures += measure_runner(pool, rounds, [None, *options.sandbox])
    load = f"load average {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores at the end"
    keep("episodes", figures, f"ratios are medians over rounds; {load}")


def measure_packing(sets: list[Path], folder: Path, rounds: int) -> list[Figure]:
    """Packing 10,000 JPEGs against decoding them with the same library on all cores, in turns.

    Where its memory happens to lie makes a process decode up to half as fast again as another, for as long as it
    lives. So both sides work in fresh processes with a heap shifted by chance, and the sums of many rounds count.
    """
    files = [file for own in image_files(sets) for file in own]
    chance, target = random.Random(0), folder / "packed"
    decoding, packing = [], []
    for _ in range(rounds):
        for spent, work in (
            (decoding, lambda: decode_all(files)),
            (packing, lambda: _pack_all(sets, target)),
        ):
            os.environ[SHIFT] = "x" * (600 + 16 * chance.randrange(1000))  # kept on the heap of each child
            spent.append(work())
        shutil.rmtree(target)
    del os.environ[SHIFT]
    ratio = sum(packing) / sum(decoding)
    return [
        figure("pack_to_decode_time", ratio, "times", "<= 1.3", ratio <= 1.3),
        figure("decode_rate", rounds * len(files) / sum(decoding), "images/s"),
        figure("pack_rate", rounds * len(files) / sum(packing), "images/s"),
    ]


def _pack_all(sets: list[Path], target: Path) -> float:
    """Seconds, with the start of the processes."""
    began = time.perf_counter()
    with BlockWorkers() as workers:
        for _, packed in pack_series(sets, target, workers):
            packed.result()
    return time.perf_counter() - began


def streaming_figures(rounds: list[Round]) -> list[Figure]:
    """What the rounds say; wall clock first, the processor's time beside it."""
    speed = median(r.bytes_.wall / r.peer.wall for r in rounds)
    floats = median(r.floats.wall / r.peer.wall for r in rounds)
    share = median(r.bytes_.wall / r.copy.wall for r in rounds)
    return [
        figure("peer_task", 335e3 / median(r.peer.wall for r in rounds), "ms a task of 335 images"),
        figure("uint8_task", 335e3 / median(r.bytes_.wall for r in rounds), "ms a task of 335 images"),
        figure("float32_task", 335e3 / median(r.floats.wall for r in rounds), "ms a task of 335 images"),
        figure("copyto_rate", median(r.copy.wall for r in rounds) * IMAGE_BYTES / 1e9, "GB/s"),
        figure("uint8_to_peer", speed, "times", ">= 50", speed >= 50),
        figure("uint8_to_copyto", share, "of copyto", ">= 0.4", share >= 0.4),
        figure("float32_to_peer", floats, "times", ">= 20", floats >= 20),
        figure("uint8_to_peer_cpu", median(r.bytes_.processor / r.peer.processor for r in rounds), "times"),
        figure(
            "uint8_to_copyto_cpu", median(r.bytes_.processor / r.copy.processor for r in rounds), "of copyto"
        ),
        figure("float32_to_peer_cpu", median(r.floats.processor / r.peer.processor for r in rounds), "times"),
    ]


def measure_cold(pool: Pool, files: list[list[Path]]) -> list[Figure]:
    """The same with nothing in the page cache."""
    forget([file for own in files for file in own])
    peer = Rate.of(lambda: peer_images(pool, files, AnyWayAnyShot(), 5000, 8))
    forget([pack.path for pack in pool])
    ours = Rate.of(lambda: byte_images(pool, AnyWayAnyShot(), 5000, 8))
    return [
        figure("cold_peer_task", 335e3 / peer.wall, "ms a task of 335 images"),
        figure("cold_uint8_task", 335e3 / ours.wall, "ms a task of 335 images"),
        figure("cold_uint8_to_peer", ours.wall / peer.wall, "times"),
    ]


def measure_memory(pool: Pool) -> list[Figure]:
    """Peak memory beside the index: it must depend neither on the number of tasks nor on the size of the pool."""
    packs = [pack.path for pack in pool]
    bound = 4 * LARGEST_TASK
    return [
        figure(
            f"memory_{name}",
            grown / MIB,
            "MiB",
            f"<= {bound // MIB} (4 tasks of 20 ways, 20 shots)",
            grown <= bound,
        )
        for name, grown in (
            ("100_tasks_one_dataset", growth(packs[:1], 100)),
            ("100_tasks_all_datasets", growth(packs, 100)),
            ("1000_tasks_all_datasets", growth(packs, 1000)),
        )
    ]


def measure_addressing(pool: Pool) -> list[Figure]:
    """What it costs to draw the last task of a phase against the first, and the whole table of `legacy`."""
    protocol = AnyWayAnyShot()

    def seconds(first: int) -> float:
        started = time.process_time()
        for index in range(first, first + 200):
            protocol.task(pool, SEED, index)
        return (time.process_time() - started) / 200

    seconds(100)
    ratio = median(seconds(5800) / seconds(0) for _ in range(5))
    started = time.process_time()
    legacy = Legacy(tasks_per_dataset=600)
    legacy.task(pool.subset(range(10)), SEED, 5999)
    table = time.process_time() - started
    return [
        figure("draw_task", median(seconds(0) for _ in range(3)) * 1e3, "ms"),
        figure("draw_last_to_first", ratio, "times", "<= 1.3 (noise)", ratio <= 1.3),
        figure("legacy_table_6000_tasks", table, "s, once"),
    ]


def measure_runner(pool: Pool, rounds: list[Round], sandboxes: list[str | None]) -> list[Figure]:
    """Through the task server and the runner, to a learner that does nothing; the peer only serves, in one process."""
    figures = []
    for sandbox in sandboxes:
        passage = pass_tasks(pool, RUN, sandbox)
        ratio = passage.rate / median(r.peer.wall for r in rounds)
        name = sandbox or "child process"
        met = ratio >= 10 if sandbox else None
        figures.append(figure(f"end_to_end ({name})", ratio, "times", ">= 10" if sandbox else "", met))
        figures.append(figure(f"end_to_end_task ({name})", 335e3 / passage.rate, "ms a task of 335 images"))
        steps = (
            figure(f"end_to_end {step} ({name})", s / RUN * 1e3, "ms a task")
            for step, s in passage.steps.items()
        )
        figures.extend(steps)
    return figures


if __name__ == "__main__":
    main()

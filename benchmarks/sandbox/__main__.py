"""`python -m benchmarks.sandbox`: needs a Docker daemon; add `--quick` for a tenth of the tasks."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from anyshot_core.taskserver.job import TaskSource
from anyshot_worker.images.build import build_image
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from benchmarks.figures import Figure, figure, keep
from benchmarks.sandbox.material import IMAGES, LIMITS, Material, make_material, run_once

QUICK = "--quick" in sys.argv
REPEATS = 1 if QUICK else 3
LARGE_TASKS, SMALL_TASKS = (
    (60, 600) if QUICK else (200, 6000)
)  # memory is fresh in the first few tasks of a run


def main() -> None:
    """Measure everything and keep the figures."""
    built = build_image("cpu", SandboxSettings().images_folder)
    with tempfile.TemporaryDirectory(prefix="anyshot-bench-") as name:
        folder = Path(name)
        material = make_material(folder)
        figures = [*measure_starts(folder, material, built.tag), *measure_tasks(folder, material)]
        figures += measure_memory(folder, material)
    load = f"load average {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores at the end"
    keep("sandbox", figures, f"quick run; {load}" if QUICK else load)


def measure_starts(folder: Path, material: Material, image: str) -> list[Figure]:
    """From the zip to the first task, with a warm box and with none, beside a plain `docker run` of the image."""
    tasks = material.small_tasks(1)
    warm = settings(folder / "warm", pool_size=1)
    with_pool = open_sandboxes(warm)
    with_pool.open(None, LIMITS, "first", 1).close()  # the pool follows the limits that were asked for last
    warm_seconds = []
    for _ in range(REPEATS):
        wait_until_idle(with_pool)
        warm_seconds.append(run_once(with_pool, material, tasks).first_task_seconds)
    with_pool.close()
    empty = open_sandboxes(settings(folder / "empty", pool_size=0))
    cold_seconds = [run_once(empty, material, tasks).first_task_seconds for _ in range(REPEATS)]
    empty.close()
    direct = [time_docker_run(image) for _ in range(REPEATS)]
    warm_best, cold_best, plain = min(warm_seconds), min(cold_seconds), min(direct)
    return [
        figure("sandbox.zip_to_first_task.warm", warm_best, "s", "< 1", warm_best < 1),
        figure("sandbox.zip_to_first_task.empty_pool", cold_best, "s", "< 3", cold_best < 3),
        figure("sandbox.docker_run_until_torch", plain, "s"),
        figure("sandbox.empty_pool_to_docker_run", cold_best / plain, "ratio"),
    ]


def wait_until_idle(sandboxes: Sandboxes, patience: float = 300.0) -> None:
    """Until a box waits in the pool and does nothing any more: a started box is not yet a warm one."""
    if not sandboxes.pool.wait_until_warm(patience):
        raise RuntimeError("the pool did not warm up")
    used, deadline = -1.0, time.monotonic() + patience
    while (now := sandboxes.pool.cpu_seconds()) > used + 0.02:
        if time.monotonic() > deadline:
            raise RuntimeError("the warm box does not come to rest")
        used = now
        time.sleep(2)


def time_docker_run(image: str) -> float:
    """Seconds of `docker run` until torch is imported, without any of our flags."""
    began = time.monotonic()
    command = ["docker", "run", "--rm", "--network", "none", "--cpus", "1", image, "-c", "import torch"]
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - began


def measure_tasks(folder: Path, material: Material) -> list[Figure]:
    """What the platform adds to a task of 335 images, beside a ResNet-18's forward over the same images."""
    sandboxes = open_sandboxes(settings(folder / "tasks", pool_size=0))
    tasks = material.large_tasks(LARGE_TASKS)
    runs = [run_once(sandboxes, material, tasks) for _ in range(REPEATS)]
    sandboxes.close()
    per_task = min((run.testing_seconds - run.own_task_seconds) / LARGE_TASKS for run in runs)
    forward = time_forward(tasks)
    share = per_task / forward
    return [
        figure(
            "sandbox.platform_time_a_task",
            1000 * per_task,
            f"ms at {IMAGES} images",
            "< 15",
            per_task < 0.015,
        ),
        figure("sandbox.resnet18_forward", forward, f"s at {IMAGES} images"),
        figure("sandbox.platform_share_of_forward", 100 * share, "%", "< 5", share < 0.05),
    ]


def time_forward(tasks: TaskSource) -> float:
    """Seconds of a ResNet-18's forward over one task's images on one core, median of three."""
    import numpy as np
    import timm
    import torch

    torch.set_num_threads(1)
    net = timm.create_model("resnet18", pretrained=False).eval()
    task = tasks.draw(0)
    images = torch.from_numpy(np.concatenate([task.support, task.query])).float() / 255
    seconds = []
    with torch.no_grad():
        for _ in range(3):
            began = time.monotonic()
            for batch in images.split(64):
                net(batch)
            seconds.append(time.monotonic() - began)
    return statistics.median(seconds)


def measure_memory(folder: Path, material: Material) -> list[Figure]:
    """Memory of the worker beside the sandbox over thousands of tasks."""
    sandboxes = open_sandboxes(settings(folder / "memory", pool_size=0))
    run = run_once(sandboxes, material, material.small_tasks(SMALL_TASKS))
    sandboxes.close()
    early = max(size for done, size in run.resident.items() if done <= SMALL_TASKS // 10)
    growth = (max(run.resident.values()) - early) / (1 << 20)
    target = 16 if QUICK else 32
    return [
        figure(
            "sandbox.worker_growth", growth, f"MiB over {SMALL_TASKS} tasks", f"< {target}", growth < target
        ),
        figure("sandbox.small_task", 1000 * run.testing_seconds / SMALL_TASKS, "ms a task, everything"),
    ]


def open_sandboxes(chosen: SandboxSettings) -> Sandboxes:
    return Sandboxes.from_settings(chosen)


def settings(folder: Path, pool_size: int) -> SandboxSettings:
    """A state folder of its own, so that nobody else's boxes are touched."""
    return SandboxSettings(sandbox="docker", state_folder=folder, pool_size=pool_size, owner="benchmark")


if __name__ == "__main__":
    main()

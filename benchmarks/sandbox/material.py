"""Pools, a submission and runs for the measurements, with the hostile suite's own bench."""

import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from anyshot_core.data.pack import pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.demo_data import make_demo_data
from anyshot_core.protocols.any_way_any_shot import AnyWayAnyShot
from anyshot_core.protocols.task import Range
from anyshot_core.taskserver.job import Hooks, JobOutcome, ServerProgress, TaskServerJob
from anyshot_core.taskserver.server import serve
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.worker_api import Budget, Limits, Stage
from anyshot_worker.sandbox import Sandboxes
from tests.hostile.cases import zip_case

LIMITS = Limits(memory_bytes=2 << 30, cpus=1.0, processes=128, scratch_bytes=256 << 20)
WAYS, SHOTS, QUERIES = 5, 47, 20
IMAGES = WAYS * (SHOTS + QUERIES)  # 335


@dataclass(frozen=True)
class Material:
    """Packs of two datasets with 70 images a class, and the zip of a nearest-centroid learner."""

    packs: tuple[Path, ...]
    pool: Pool
    bundle: Path

    def large_tasks(self, count: int) -> PoolTasks:
        return PoolTasks(
            self.pool, AnyWayAnyShot(Range(WAYS, WAYS), Range(SHOTS, SHOTS), QUERIES), 1, 0, count
        )

    def small_tasks(self, count: int) -> PoolTasks:
        return PoolTasks(self.pool, AnyWayAnyShot(Range(2, 3), Range(1, 2), 4), 1, 0, count)


@dataclass(frozen=True)
class Timed:
    """One run: seconds until the first task was due and until the end, memory of this process on the way."""

    outcome: JobOutcome
    first_task_seconds: float
    testing_seconds: float
    resident: dict[int, int]  # tasks done -> bytes

    @property
    def own_task_seconds(self) -> float:
        """What the participant's code took of the meta-test stage."""
        return sum(r.load_seconds + r.fit_seconds + r.predict_seconds for r in self.outcome.results)


def make_material(folder: Path) -> Material:
    source = make_demo_data(folder / "source", classes=WAYS, images=70, datasets=("OCR_LAT", "TXT_SIN"))
    packs = [pack_dataset(source / name, folder / f"{name}.anyshot-pack") for name in ("OCR_LAT", "TXT_SIN")]
    return Material(tuple(pack.path for pack in packs), Pool(packs), zip_case(None, folder / "honest.zip"))


def run_once(sandboxes: Sandboxes, material: Material, tasks: PoolTasks) -> Timed:
    """Open a box, serve the job, close the box."""
    began, testing, resident = time.monotonic(), 0.0, {}

    def note(progress: ServerProgress) -> None:
        nonlocal testing
        if progress.stage is Stage.META_TESTING:
            testing = testing or time.monotonic()
            resident[progress.tasks_done] = psutil.Process().memory_info().rss

    opened = sandboxes.open(None, LIMITS, "benchmark", 1)
    job = TaskServerJob(
        material.bundle, material.packs, tasks, Budget(run_seconds=3600), query_secret=b"benchmark"
    )
    outcome = serve(opened.channel, job, Hooks(on_progress=note))
    ended = time.monotonic()
    opened.close()
    if outcome.failure is not None:
        raise RuntimeError(f"the honest submission failed: {outcome.failure}")
    return Timed(outcome, testing - began, ended - testing, resident)

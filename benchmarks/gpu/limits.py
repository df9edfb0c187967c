"""Submissions that ask the device for too much, and what they are told; the sandbox with a device."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from anyshot_core.protocols import protocol_from_dict
from anyshot_core.taskserver.job import JobOutcome, TaskServerJob
from anyshot_core.taskserver.server import serve
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Budget, Limits
from anyshot_starting_kit.dryrun.evaluate import channel_opener
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.interface import SandboxError
from anyshot_worker.sandbox.preflight import check_guarantees
from anyshot_worker.sandbox.sandboxes import Sandboxes
from anyshot_worker.sandbox.settings import SandboxSettings
from benchmarks.figures import Figure, figure

if TYPE_CHECKING:
    from benchmarks.gpu.measure import Place

LEARNER = """
import torch
from api import MetaLearner, Learner, Predictor

DEVICE = "{device}"


class MyMetaLearner(MetaLearner):
    def meta_fit(self, meta_train_generator, meta_valid_generator):
        return MyLearner()


class MyLearner(Learner):
    def fit(self, support_set):
        {fit}
        return MyPredictor()

    def save(self, path_to_save):
        pass

    def load(self, path_to_load):
        pass


class MyPredictor(Predictor):
    def predict(self, query_set):
        return query_set.to(DEVICE).mean((1, 2, 3)).mul(0).long().cpu().numpy()
"""
# Sixteen pieces of an eighth of the device's memory. Of the processor only the error is shown: a machine would suffer.
TOO_MUCH = {
    "cuda": "self.held = [torch.empty(torch.cuda.mem_get_info()[1] // 8, dtype=torch.uint8, device=DEVICE)"
    " for _ in range(16)]",
    "cpu": "raise torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 1024.00 GiB.')",
}

BOX = Limits(memory_bytes=16 << 30, cpus=4, gpus=1)


def measure(place: Place) -> list[Figure]:
    """Too much memory of the device is a memory limit, not a bug; and the next submission finds the device free."""
    greedy = attempt(place, TOO_MUCH[place.device.type])
    verdict = None if greedy.failure is None else greedy.failure.verdict
    modest = attempt(place, "pass")
    told, after = verdict is Verdict.MEMORY_LIMIT, modest.failure is None
    return [
        figure(
            "too much memory of the device is told as such", float(told), f"(verdict: {verdict})", "1", told
        ),
        figure("the submission after it runs", float(after), "", "1", after),
    ]


def boxed(place: Place) -> list[Figure]:
    """The same modest submission in a box of the worker's, with a device of its own, where Docker is."""
    settings = SandboxSettings(
        sandbox="docker",
        docker_runtime="nvidia",
        sandbox_image="gpu",
        sandbox_images=("gpu",),
        state_folder=place.folder / "state",
        pool_size=0,
    )
    backend = DockerBackend(settings)
    with closing(backend):
        if place.device.type == "cpu":
            print("A box with a device is for a device; `make hostile` tries boxes without.")
            return []
        if not backend.answers():
            print("No Docker daemon answers here: the sandbox with a device was not tried.")
            return []
        try:
            broken = [one for one in check_guarantees(backend, "gpu") if not one.holds]
        except SandboxError as error:
            print(f"The sandbox with a device was not tried: {error}")
            return []
        for one in broken:
            print(f"{one.guarantee.promise} NOT PROVED: {one.wrong}")
        with (
            closing(Sandboxes(backend, settings)) as sandboxes,
            closing(sandboxes.open(None, BOX, "benchmark", 1)) as opened,
        ):
            outcome = serve(opened.channel, job(place, "pass"))
        if outcome.failure is not None:
            print(outcome.failure)
        works = outcome.failure is None
    return [
        figure("guarantees that do not hold beside a device", len(broken), "", "0", not broken),
        figure("a submission on the device inside the sandbox", float(works), "", "1", works),
    ]


def attempt(place: Place, fit: str) -> JobOutcome:
    """Run a learner on one task in a child process, as a dry run does."""
    with closing(channel_opener(None, 1, 4 << 30)()) as channel:
        return serve(channel, job(place, fit))


def job(place: Place, fit: str) -> TaskServerJob:
    """A learner that does `fit` with its support set, on one small task."""
    bundle = place.folder / "learner.zip"
    with ZipFile(bundle, "w") as content:
        content.writestr("model.py", LEARNER.format(device=place.device.type, fit=fit))
    protocol = protocol_from_dict({"name": "any_way_any_shot", "ways": [2, 2], "shots": [1, 1], "query": 5})
    source = PoolTasks(place.pool, protocol, 93, 0, 1)
    return TaskServerJob(
        bundle,
        (Path(place.pool[0].path),),
        source,
        Budget(run_seconds=300),
        query_secret=b"gpu",
        device=place.device.type,
    )

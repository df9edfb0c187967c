"""Submissions that ask the device for too much, and what they are told; the sandbox with a device."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from anyshot_core.protocols import protocol_from_dict
from anyshot_core.taskserver.job import JobOutcome, TaskServerJob
from anyshot_core.taskserver.server import serve
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Budget
from anyshot_starting_kit.dryrun.evaluate import channel_opener
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
    """The same modest submission inside the sandbox image with the device, where Docker is."""
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "version"], capture_output=True).returncode:
        print("No Docker daemon answers here: the sandbox with a device was not tried.")
        return []
    if place.device.type == "cpu":
        print(
            "The sandbox with a device is for a device; `make hostile` and `anyshot worker doctor` try it without."
        )
        return []
    code = "import torch; x = torch.ones(8, device='cuda'); print(int(x.sum()))"
    command = [
        docker,
        "run",
        "--rm",
        "--network=none",
        "--read-only",
        "--cap-drop=ALL",
        "--user=20000:20000",
        "--gpus=all",
    ]
    done = subprocess.run([*command, "anyshot/sandbox:gpu", "-c", code], capture_output=True, text=True)
    works = done.stdout.strip() == "8"
    if not works:
        print(done.stderr[-2000:])
    return [figure("the device works inside the sandbox image", float(works), "", "1", works)]


def attempt(place: Place, fit: str) -> JobOutcome:
    """Run a learner on one task in a child process, as a dry run does."""
    bundle = place.folder / "learner.zip"
    with ZipFile(bundle, "w") as content:
        content.writestr("model.py", LEARNER.format(device=place.device.type, fit=fit))
    protocol = protocol_from_dict({"name": "any_way_any_shot", "ways": [2, 2], "shots": [1, 1], "query": 5})
    source = PoolTasks(place.pool, protocol, 93, 0, 1)
    job = TaskServerJob(
        bundle, (Path(place.pool[0].path),), source, Budget(run_seconds=300), query_secret=b"gpu"
    )
    with closing(channel_opener(None, 1, 4 << 30)()) as channel:
        return serve(channel, job)

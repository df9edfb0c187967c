"""Training of three baselines on the device: tasks a second against the manner of 2022, and the same twice."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from unittest import mock

import torch

from anyshot_core.bundle.config import EpisodeConfig, SubmissionConfig
from anyshot_starting_kit import api
from anyshot_starting_kit.runner.generators import make_generators
from benchmarks.baselines import manner_of_2022
from benchmarks.figures import Figure, figure
from benchmarks.gpu.carried import ROOT
from benchmarks.gpu.datapath import synchronize

if TYPE_CHECKING:
    from benchmarks.gpu.measure import Place

BASELINES = ("prototypical_networks", "matching_networks", "fo_maml")
EPISODES = EpisodeConfig(ways=5, shots=10, query_images_per_class=20)  # as the competition paper trains
FEW = EpisodeConfig(ways=2, shots=1, query_images_per_class=2)


class _Quiet:
    def log(self, *_: object, **__: object) -> None:
        """Keep nothing."""


def measure(place: Place) -> list[Figure]:
    """Each baseline's Conv-4 at 128 pixels; the ratio that counts is that of the same method."""
    tasks = place.count(200, 1)
    peer = theirs(place, place.count(40, 1))
    made = [figure("prototypical networks in the manner of 2022", peer, "tasks/s")]
    for name in BASELINES:
        train(place, name, place.count(10, 1))  # warm
        synchronize(place.device)
        began = time.perf_counter()
        train(place, name, tasks)
        synchronize(place.device)
        rate = tasks / (time.perf_counter() - began)
        counts = name == "prototypical_networks" and not place.tiny
        made.append(figure(name.replace("_", " "), rate, "tasks/s"))
        made.append(
            figure(f"{name.replace('_', ' ')}, ratio to the manner of 2022", rate / peer, "x",
                   ">= 2" if counts else "", rate / peer >= 2 if counts else None)
        )  # fmt: skip
    return made


def repeat(place: Place) -> list[Figure]:
    """How far apart the weights of two trainings from one seed are: as baselines train, where a GPU may add in another
    order each time, and with torch's deterministic algorithms, which baselines do nothing to prevent."""
    plain = _apart(place)
    torch.use_deterministic_algorithms(True)
    try:
        exact = _apart(place)
    finally:
        torch.use_deterministic_algorithms(False)
    return [
        figure("weights of two trainings from one seed, apart", plain, ""),
        figure("the same with deterministic algorithms", exact, "", "0", exact == 0.0),
    ]


def _apart(place: Place) -> float:
    """The greatest difference between two trainings' weights, over the baselines."""
    tasks = place.count(20, 1)
    found = [0.0]
    for name in BASELINES:
        one, other = (train(place, name, tasks) for _ in range(2))
        found += [float((one[key].double() - other[key].double()).abs().max()) for key in one]
    return max(found)


def train(place: Place, name: str, tasks: int, seed: int = 93) -> dict[str, torch.Tensor]:
    """Meta-train a baseline as its bundle does; its weights."""
    torch.manual_seed(seed)
    bundle = _load(name)
    settings = replace(bundle.SETTINGS, backbone="conv4", stem_pool=1, width=64, iterations=tasks)
    data = make_generators(
        place.pool, SubmissionConfig(train=FEW if place.tiny else EPISODES), seed, hide_names=True
    )
    with mock.patch.object(bundle, "SETTINGS", settings):
        learner = bundle.MyMetaLearner(5, 5, _Quiet()).meta_fit(data.train, None)
    return learner.model.state_dict()


def theirs(place: Place, tasks: int) -> float:
    """Tasks a second in the manner of 2022."""
    with tempfile.TemporaryDirectory() as folder:
        paths = manner_of_2022.write_images(place.pool, Path(folder))
        shape = (FEW if place.tiny else EPISODES).to_dict()
        with closing(manner_of_2022.tasks(place.pool, paths, shape, 93)) as supply:
            manner_of_2022.train(supply, 1, 64, 1, place.device)  # warm
            synchronize(place.device)
            began = time.perf_counter()
            manner_of_2022.train(supply, tasks, 64, 1, place.device)
            synchronize(place.device)
            return tasks / (time.perf_counter() - began)


def _load(name: str) -> ModuleType:
    """The module of a baseline's bundle, which imports `api` by that name."""
    sys.modules.setdefault("api", api)
    path = ROOT / "baselines" / name / "model.py"
    spec = importlib.util.spec_from_file_location(f"baseline_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for their module
    spec.loader.exec_module(module)
    return module

"""Training of three baselines on the device: tasks a second against the manner of 2022, and the same twice."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch import nn

from anyshot_core.bundle.config import EpisodeConfig, SubmissionConfig
from anyshot_starting_kit import api
from anyshot_starting_kit.episodes.residence import drawn_on
from anyshot_starting_kit.runner.generators import make_generators
from anyshot_starting_kit.training import episodic
from anyshot_starting_kit.training.episodic import validate
from benchmarks.baselines import manner_of_2022
from benchmarks.figures import Figure, figure
from benchmarks.gpu.carried import ROOT
from benchmarks.gpu.datapath import synchronize

if TYPE_CHECKING:
    from benchmarks.gpu.measure import Place

BASELINES = ("prototypical_networks", "matching_networks", "fo_maml")
EPISODES = EpisodeConfig(ways=5, shots=10, query_images_per_class=20)  # as the competition paper trains
FEW = EpisodeConfig(ways=2, shots=1, query_images_per_class=2)
SETTINGS: dict[str, dict[str, Any]] = {
    "pool on the device": {},
    "read ahead": {"keep": False},
    "bfloat16": {"precision": "bfloat16"},
    "CUDA graphs": {"compiled": "reduce-overhead"},
    "bfloat16 and CUDA graphs": {"precision": "bfloat16", "compiled": "reduce-overhead"},
}


class _Quiet:
    def log(self, *_: object, **__: object) -> None:
        """Keep nothing."""


def measure(place: Place) -> list[Figure]:
    """Each baseline's Conv-4 at 128 pixels; the ratio that counts is that of the same method at its quickest."""
    tasks = place.count(200, 1)
    peer = theirs(place, place.count(40, 1))
    made = [figure("prototypical networks in the manner of 2022", peer, "tasks/s")]
    for name in BASELINES:
        rate, _ = timed(place, name, tasks)
        words = name.replace("_", " ")
        made += [
            figure(words, rate, "tasks/s"),
            figure(f"{words}, ratio to the manner of 2022", rate / peer, "x"),
        ]
    return made + settings(place, tasks, peer)


def settings(place: Place, tasks: int, peer: float) -> list[Figure]:
    """Prototypical networks in both ways of reading and by each setting, each with its accuracy beside it."""
    made, quickest = [], 0.0
    for words, changes in SETTINGS.items():
        if "compiled" in changes and place.device.type == "cpu":
            continue  # minutes of C++, and no CUDA graphs
        rate, accuracy = timed(place, BASELINES[0], tasks, **changes)
        quickest = max(quickest, rate)
        made += [
            figure(f"prototypical networks, {words}", rate, "tasks/s"),
            figure(f"prototypical networks, {words}, accuracy", accuracy, ""),
        ]
    times = quickest / peer
    made.append(
        figure("prototypical networks at its quickest, ratio to the manner of 2022", times, "x",
               "" if place.tiny else ">= 20", None if place.tiny else times >= 20)
    )  # fmt: skip
    return made


def timed(place: Place, name: str, tasks: int, keep: bool = True, **changes: Any) -> tuple[float, float]:
    """Tasks a second of a training, with the pool on the device or read ahead, and its accuracy on other tasks."""
    train(place, name, place.count(10, 1), keep=keep, **changes)  # warm
    synchronize(place.device)
    began = time.perf_counter()
    model = train(place, name, tasks, keep=keep, **changes)
    synchronize(place.device)
    rate = tasks / (time.perf_counter() - began)
    others = make_generators(place.pool, SubmissionConfig(train=shape(place)), 94, hide_names=True)
    return rate, validate(model, others.train, place.count(100, 1), _Quiet().log) or 0.0


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
        one, other = (train(place, name, tasks).state_dict() for _ in range(2))
        found += [float((one[key].double() - other[key].double()).abs().max()) for key in one]
    return max(found)


def train(
    place: Place, name: str, tasks: int, seed: int = 93, keep: bool = True, **changes: Any
) -> nn.Module:
    """Meta-train a baseline as its bundle does, with settings changed; its model."""
    torch.manual_seed(seed)
    bundle = _load(name)
    settings = replace(bundle.SETTINGS, backbone="conv4", stem_pool=1, width=64, iterations=tasks, **changes)
    data = make_generators(place.pool, SubmissionConfig(train=shape(place)), seed, hide_names=True)
    with (
        mock.patch.object(bundle, "SETTINGS", settings),
        mock.patch.object(episodic, "drawn_on", partial(drawn_on, keep=keep)),
    ):
        return bundle.MyMetaLearner(5, 5, _Quiet()).meta_fit(data.train, None).model


def shape(place: Place) -> EpisodeConfig:
    """Ways and shots of the tasks."""
    return FEW if place.tiny else EPISODES


def theirs(place: Place, tasks: int) -> float:
    """Tasks a second in the manner of 2022."""
    with tempfile.TemporaryDirectory() as folder:
        paths = manner_of_2022.write_images(place.pool, Path(folder))
        config = shape(place).to_dict()
        with closing(manner_of_2022.tasks(place.pool, paths, config, 93)) as supply:
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

"""What the runner does with a submission between two frames: import, meta-train, load, fit, predict."""

import importlib
import json
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from anyshot_core.bundle.config import SubmissionConfig, read_config
from anyshot_core.data.pool import Pool
from anyshot_core.episodes.memory import Memory
from anyshot_core.protocols import Protocol, protocol_from_dict
from anyshot_core.wire.frames import FrameType
from anyshot_core.wire.messages import INLINE, ImagesHeader, JobHeader, LoggerRow
from anyshot_starting_kit import snapshots
from anyshot_starting_kit.episodes.tensors import floats, read_floats, to_float
from anyshot_starting_kit.runner.checkpoints import TrainingCheckpoints, saves_training
from anyshot_starting_kit.runner.generators import announced, make_generators, shortened
from anyshot_starting_kit.runner.logger import Logger
from anyshot_starting_kit.runner.predictions import (
    BadPrediction,
    labels_and_probabilities,
    reduce_predictions,
)
from anyshot_starting_kit.runner.random_state import (
    RandomState,
    random_state,
    restore_random_state,
    seed_all,
)
from anyshot_starting_kit.runner.scratch import Scratch
from anyshot_starting_kit.runner.stream import FrameStream


class _Images:
    """Where the images of a task come from, and the memory in which they become floats."""

    def __init__(self, shared: str | None, mapped: bool) -> None:
        """`shared` is the path of the shared buffer; `mapped` says that a mapping of it follows what is written."""
        self._shared, self._mapped = shared, mapped
        self._mapping: mmap.mmap | None = None
        self._memory = Memory()

    def fetch(self, images: ImagesHeader, inline: memoryview) -> torch.Tensor:
        """float32 [n, c, h, w] in [0, 1]. Raises OSError where the shared buffer has less than announced."""
        target = floats(self._memory, images.shape)
        if images.place == INLINE:
            return _convert(inline, images, target)
        if self._shared is None:
            raise OSError("the task is in a shared buffer that this sandbox has not")
        if images.pixel_bytes and self._mapped:
            return _convert(self._map(self._shared, images.pixel_bytes), images, target)
        _read(self._shared, images, target.numpy())
        return target

    def _map(self, shared: str, size: int) -> mmap.mmap:
        """The buffer, mapped anew where it has grown."""
        if self._mapping is None or len(self._mapping) < size:
            descriptor = os.open(shared, os.O_RDONLY | os.O_CLOEXEC)
            try:
                there = os.fstat(descriptor).st_size
                _require(there >= size)
                self._mapping = mmap.mmap(descriptor, there, prot=mmap.PROT_READ)
            finally:
                os.close(descriptor)
        return self._mapping


class MissingClass(Exception):
    """model.py was imported and lacks one of the two classes."""


@dataclass(frozen=True, slots=True)
class _Submission:
    """The two classes of a submission; the predictor's is whatever `fit` returns."""

    meta_learner: Any
    learner: Any


class Evaluation:
    """One submission in this process. Raises what the participant's code raises."""

    def __init__(self, job: JobHeader, place: Scratch, stream: FrameStream) -> None:
        """Reads config.json and opens the packs; both are the platform's time."""
        torch.set_num_threads(max(1, job.cpus))
        seed_all(job.train_seed)
        self._job, self._place = job, place
        held_out = job.train and job.validation_protocol is None  # else config.json takes no dataset away
        self._config = _read_config(place.program, job.packs if held_out else None)
        self._pool = _open_packs(job, range(job.packs)) if job.train else None
        self._emit: Callable[[LoggerRow], None] = lambda row: stream.send(FrameType.LOGGER, row.to_bytes())
        self._tell_step = lambda: stream.send(FrameType.STEP)
        self._submission: _Submission | None = None
        self._learner: Any = None
        self._predictor: Any = None
        self._ways = 0
        self._random: RandomState | None = None
        self._images = _Images(job.pixels, job.pixels_mapped)

    def import_submission(self) -> None:
        self._submission = _import_submission()
        self._random = random_state()

    def start_again(self) -> None:
        """Let random numbers come as they came after the import: what follows is as in a process of its own."""
        if self._random is not None:
            restore_random_state(self._random)

    @property
    def saves_training(self) -> bool:
        """Whether its meta-learner can save itself while it trains."""
        return self._submission is not None and saves_training(self._submission.meta_learner)

    def train(self, checkpoints: TrainingCheckpoints) -> list[float]:
        """meta_fit on the training pool, then save; the training losses of the snapshots that were asked for."""
        assert self._submission is not None and self._pool is not None
        data = make_generators(
            self._pool,
            self._config,
            self._job.train_seed,
            hide_names=self._job.hide_dataset_names,
            protocol=_protocol(self._job.train_protocol),
            validation=self._validation(),
        )
        data = checkpoints.follow(data)
        if self._job.max_items is not None:
            data = shortened(data, self._job.max_items)
        data = announced(data, self._tell_step)
        snapshots.begin(self._place.snapshots, self._job.snapshots)
        logger = Logger(str(self._place.logs), self._emit)
        make = partial(self._submission.meta_learner, data.train_classes, data.total_classes, logger)
        learner = checkpoints.begin(make, logger).meta_fit(data.train, data.valid)
        if learner is None:
            raise TypeError("meta_fit returned None; it must return the learner.")
        learner.save(str(self._place.model))
        return snapshots.finish(learner)

    def _validation(self) -> tuple[Pool, Protocol] | None:
        """What the phase validates on; None where config.json says."""
        protocol = _protocol(self._job.validation_protocol)
        if protocol is None:
            return None
        places = range(self._job.packs, self._job.packs + self._job.validation_packs)
        return _open_packs(self._job, places), protocol

    def load(self, seed: int | None = None) -> None:
        """A fresh learner, loaded, before anything of the task is known.

        With the task's `seed`, its random numbers are the same whatever ran before it in this process.
        """
        assert self._submission is not None
        self._predictor = None
        if seed is not None:
            seed_all(seed)
        self._learner = self._submission.learner()
        self._learner.load(str(self._place.model))

    def fit(self, images: ImagesHeader, labels: np.ndarray, inline: memoryview) -> None:
        """Fit to a support set; original labels are the task's own, so that no class is known again."""
        pixels = self._images.fetch(images, inline)
        own = torch.from_numpy(labels)
        self._ways = images.ways
        support = (pixels, own, own.clone(), images.ways, images.shots)
        self._predictor = self._learner.fit(support)
        if not hasattr(self._predictor, "predict"):
            kind = type(self._predictor).__name__
            raise TypeError(f"fit returned a {kind} without a method predict; it must return the predictor.")

    def predict(self, images: ImagesHeader, inline: memoryview) -> tuple[np.ndarray, np.ndarray | None]:
        """Labels int64 [n_query] in [0, ways), and probabilities float32 [n_query, ways] where the job wants them and
        there are some. Raises BadPrediction.
        """
        pixels = self._images.fetch(images, inline)
        answer = self._predictor.predict(pixels)
        if answer is None:
            raise BadPrediction("predict returned None; it must return logits, probabilities or labels.")
        if self._job.probabilities:
            return labels_and_probabilities(answer, images.images, self._ways)
        return reduce_predictions(answer, images.images, self._ways), None

    def features(self, images: ImagesHeader, inline: memoryview) -> dict[str, np.ndarray]:
        """What the learner's optional `features` says of images: float32 `[n, ...]` by layer; none without it."""
        offered = getattr(self._learner, "features", None)
        if offered is None:
            return {}
        answer = offered(self._images.fetch(images, inline))
        if not isinstance(answer, dict):
            kind = type(answer).__name__
            raise TypeError(f"features returned a {kind}; it must return a dict of arrays by layer.")
        return {str(name): _array(values) for name, values in answer.items()}


def _array(values: Any) -> np.ndarray:
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values, np.float32)


def _read_config(program: Path, train_datasets: int | None) -> SubmissionConfig:
    path = program / "config.json"
    return read_config(path.read_bytes(), train_datasets) if path.is_file() else SubmissionConfig()


def _open_packs(job: JobHeader, places: range) -> Pool:
    folder = Path(job.packs_folder or "")
    return Pool.open([folder / str(position) for position in places], verify=False)


def _protocol(text: str | None) -> Protocol | None:
    return None if text is None else protocol_from_dict(json.loads(text))


def _import_submission() -> _Submission:
    """Import model.py. Lets every exception of it through, so that a missing wheel is not called a missing class."""
    model = importlib.import_module("model")
    missing = [name for name in ("MyMetaLearner", "MyLearner") if not hasattr(model, name)]
    if missing:
        raise MissingClass(f"model.py defines no {' and no '.join(missing)}.")
    return _Submission(model.MyMetaLearner, model.MyLearner)


def _convert(source: memoryview | mmap.mmap, images: ImagesHeader, target: torch.Tensor) -> torch.Tensor:
    pixels = np.frombuffer(source, dtype=np.uint8, count=images.pixel_bytes).reshape(images.shape)
    return to_float(pixels, out=target)


def _read(shared: str, images: ImagesHeader, target: np.ndarray) -> None:
    with open(shared, "rb", buffering=0) as file:  # noqa: PTH123
        descriptor, shape = file.fileno(), images.shape[1:]
        size = int(np.prod(shape))
        read_floats(
            lambda first, few: _read_fully(descriptor, few.reshape(-1).data, first * size), target, shape
        )


def _read_fully(descriptor: int, target: memoryview, offset: int) -> None:
    done = 0
    while done < len(target):
        count = os.preadv(descriptor, [target[done:]], offset + done)
        _require(count > 0)
        done += count


def _require(enough: bool) -> None:
    if not enough:
        raise OSError("the shared buffer is shorter than announced")

"""What a run stores while it goes on, with the account of what it cost so far: a training that lasts, and answers.

A file of answers is a JSON header after its length (u32, little-endian), then for each answer its predictions (int64)
and, where it has some, its probabilities (float32), then the tables of the logger as a zip. Nothing else in it is
compressed or executable, and a reader draws the tasks again: of a label no file is believed. A file of training is such
a header, the tables, and what the sandbox exported, which only a sandbox opens.
"""

import json
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from anyshot_core.taskserver.job import TaskResult
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.worker_api import Provenance, Usage

_LENGTH = struct.Struct("<I")
_TIMES = ("load_seconds", "fit_seconds", "predict_seconds")


class BadCheckpoint(ValueError):
    """A checkpoint that does not belong to this job, or is broken; the text says what was found."""


@dataclass(frozen=True)
class Checkpoint:
    """The answers to the tasks of a job from the place `first` on, and what the run had used by then.

    `key` is the job's (`wire.checkpoints.job_key`), `learner` the digest of the learner that answered, empty where the
    job brings it. `seconds` are the participant's by step, `tables` those of its logger as a zip, which come with the
    learner. `provenance` is of the attempt that answered.
    """

    key: str
    learner: str
    first: int
    results: tuple[TaskResult, ...]
    seconds: dict[str, float]
    usage: Usage = field(default_factory=Usage)
    provenance: Provenance = field(default_factory=Provenance)
    tables: bytes = b""

    def to_bytes(self) -> bytes:
        """The file."""
        told = {
            "learner": self.learner,
            "first": self.first,
            "answers": [_describe(one) for one in self.results],
        }
        header = json.dumps(_tell_account(self) | told).encode()
        arrays = (array.tobytes() for one in self.results for array in _arrays(one))
        return b"".join((_LENGTH.pack(len(header)), header, *arrays, self.tables))


def read_checkpoint(content: bytes, tasks: PoolTasks, key: str) -> Checkpoint:
    """Read a file of a job with that key and those tasks. Raises `BadCheckpoint`."""
    with _reading():
        (length,) = _LENGTH.unpack_from(content)
        told = json.loads(content[_LENGTH.size : _LENGTH.size + length])
        account = _read_account(told, key)
        first, answers = int(told["first"]), list(told["answers"])
        places = tasks.indices[first : first + len(answers)]
        if len(places) != len(answers):
            raise BadCheckpoint(f"It has {first + len(answers)} answers to {len(tasks.indices)} tasks.")
        results, at = list[TaskResult](), _LENGTH.size + length
        for index, answer in zip(places, answers, strict=True):
            result, at = _read_answer(content, at, tasks, index, answer)
            results.append(result)
        return Checkpoint(
            **account, learner=str(told["learner"]), first=first, results=tuple(results), tables=content[at:]
        )


@dataclass(frozen=True)
class TrainingCheckpoint:
    """How far the meta-training of the job `key` is: seconds and tables as in a `Checkpoint`."""

    key: str
    seconds: dict[str, float]
    usage: Usage = field(default_factory=Usage)
    provenance: Provenance = field(default_factory=Provenance)
    tables: bytes = b""

    def write(self, target: Path, state: Path) -> None:
        """The file, with the `state` of training that a sandbox exported."""
        sizes = {"tables": len(self.tables), "state": state.stat().st_size}
        header = json.dumps(_tell_account(self) | sizes).encode()
        with target.open("wb") as file, state.open("rb") as source:
            file.write(_LENGTH.pack(len(header)) + header + self.tables)
            shutil.copyfileobj(source, file)


def read_training(content: Path, key: str, state: Path) -> TrainingCheckpoint:
    """Read a file of a job with that key, and copy the state of its training to `state`. Raises `BadCheckpoint`."""
    with _reading(), content.open("rb") as file, state.open("wb") as target:
        (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
        told = json.loads(file.read(length))
        found = TrainingCheckpoint(**_read_account(told, key), tables=file.read(int(told["tables"])))
        shutil.copyfileobj(file, target)
        if (size := target.tell()) != told["state"]:
            raise BadCheckpoint(f"It has {size} bytes of training, and says {told['state']!r:.20}.")
        return found


@contextmanager
def _reading() -> Iterator[None]:
    """Whatever is wrong with a file is a `BadCheckpoint`."""
    try:
        yield
    except BadCheckpoint:
        raise
    except (struct.error, KeyError, TypeError, AttributeError, ValidationError, ValueError) as error:
        raise BadCheckpoint(f"It cannot be read: {error!r:.200}") from error


def _tell_account(checkpoint: Checkpoint | TrainingCheckpoint) -> dict[str, Any]:
    """What a header says of whose it is and of what was used."""
    models = {name: getattr(checkpoint, name).model_dump() for name in ("usage", "provenance")}
    return {"key": checkpoint.key, "seconds": checkpoint.seconds, **models}


def _read_account(told: dict[str, Any], key: str) -> dict[str, Any]:
    if told["key"] != key:
        raise BadCheckpoint("It is of another job.")
    return {
        "key": key,
        "seconds": {str(step): float(spent) for step, spent in told["seconds"].items()},
        "usage": Usage.model_validate(told["usage"]),
        "provenance": Provenance.model_validate(told["provenance"]),
    }


def _describe(result: TaskResult) -> dict[str, Any]:
    shares = result.probabilities is not None
    times = {name: getattr(result, name) for name in _TIMES}
    return {"task": result.index, "probabilities": shares, "doubt": result.doubt, **times}


def _arrays(result: TaskResult) -> list[np.ndarray]:
    found = [np.ascontiguousarray(result.predictions, "<i8")]
    if result.probabilities is not None:
        found.append(np.ascontiguousarray(result.probabilities, "<f4"))
    return found


def _read_answer(
    content: bytes, at: int, tasks: PoolTasks, index: int, told: dict[str, Any]
) -> tuple[TaskResult, int]:
    """An answer to the task of that index whose arrays begin at `at`, and where they end."""
    if told["task"] != index:
        raise BadCheckpoint(f"It answers task {told['task']!r:.20} in the place of task {index}.")
    spec = tasks.spec(index)
    queries, probabilities = len(spec.query_labels), None
    predictions = np.frombuffer(content, "<i8", queries, at)
    at += predictions.nbytes
    if predictions.min(initial=0) < 0 or predictions.max(initial=0) >= spec.ways:
        raise BadCheckpoint(f"It answers task {index} with labels outside its {spec.ways} classes.")
    if told["probabilities"]:
        probabilities = np.frombuffer(content, "<f4", queries * spec.ways, at).reshape(queries, spec.ways)
        at += probabilities.nbytes
    times = {name: float(told[name]) for name in _TIMES}
    result = TaskResult(
        index=index,
        dataset=spec.dataset,
        ways=spec.ways,
        shots=spec.shots,
        predictions=predictions,
        labels=spec.query_labels,
        probabilities=probabilities,
        doubt=str(told["doubt"]),
        **times,
    )
    return result, at

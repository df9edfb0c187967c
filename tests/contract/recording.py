"""The messages that real workers and the real platform said to each other, kept in `recorded/`, one file a message.

`make record` writes them anew: it runs the contract tests, in which both sides are real. Each of these tests fails
when something is said that has other fields or types than what was recorded; in `test_kinds.py`, where all goes well,
also when a recorded field is no longer said. A file whose fields and types are still said is left as it is, so that
recording again shows what has changed and nothing else. What plays the part of a worker or of a platform says what was
recorded here, with other numbers and names: see `play`.
"""

import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from anyshot_core.wire import worker_api as api

FOLDER = Path(__file__).parent / "recorded"
MODELS: dict[str, type[BaseModel]] = {
    "claim": api.ClaimRequest,
    "heartbeat": api.Heartbeat,
    "reply": api.HeartbeatReply,
    "events": api.Events,
    "complete": api.Complete,
    "fail": api.Fail,
    "release": api.Release,
    "waiting": api.Waiting,
    "evidence": api.Evidence,  # what comes with a result, by what was found
}
HEARD = set(MODELS) - {"reply", "waiting", "evidence"}  # the last words of addresses
_JOB: TypeAdapter[Any] = TypeAdapter(api.Assignment)
# What is within these is of one protocol, one report or one run; their models are held by reading them.
FREE = {
    "protocol",
    "parameters",
    "result",
    "manifest",
    "platform_seconds",
    "odd_seconds",
    "test_seed",
    "gpus",
    "images",
    "image_digests",
    "inventories",
    "packs",
}
TIMES = {"at", "seconds_used", "memory_bytes", "fit_seconds", "predict_seconds", "cores"}  # and machines
_PATH = re.compile(r"(?:/[\w.-]+){3,}")  # of this machine
_ID = re.compile(r"\b[0-9a-f]{32}\b")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')  # of JSON; a number may have 32 digits too
Json = dict[str, Any]


def read(name: str, message: Json) -> BaseModel:
    """A message by the model of its kind, the first part of its name. Raises ValidationError."""
    kind = name.partition("-")[0]
    return _JOB.validate_python(message) if kind == "job" else MODELS[kind].model_validate(message)


def say(name: str, message: Json) -> Json:
    """The message as its model says it: only fields that the wire knows."""
    return read(name, message).model_dump(mode="json", exclude_unset=True)


def fill(name: str, message: Json) -> Json:
    """The message with the defaults of what was not said, as its reader sees it."""
    return read(name, message).model_dump(mode="json")


@cache
def _text(name: str) -> str:
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(path.stem for path in FOLDER.glob("*.json")))
        raise LookupError(f"no contract test recorded {name!r}; there are {known}")
    return path.read_text()


def recorded(name: str) -> Json:
    """A recorded message, to be changed at will."""
    return json.loads(_text(name))


def names() -> list[str]:
    """The names of all messages."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def play(name: str, **changes: Any) -> Json:
    """A recorded message with other values; raises ValidationError for what nobody could say."""
    message = recorded(name)
    unknown = set(changes) - set(type(read(name, message)).model_fields)
    assert not unknown, f"{name} has no {', '.join(sorted(unknown))}"
    return say(name, message | changes)


def job(kind: str, **changes: Any) -> Any:
    """A job as a worker reads it: recorded, with other values."""
    return read(f"job-{kind}", play(f"job-{kind}", **changes))


def worker_info(**changes: Any) -> api.WorkerInfo:
    """What a worker announces of itself: recorded, with other values."""
    return api.WorkerInfo.model_validate(recorded("claim")["worker"] | changes)


def part_failure(part: int, **changes: Any) -> api.PartFailure:
    """What a worker tells of one of several tests that failed: the words of a recorded failure, with other values."""
    return api.PartFailure.model_validate(play("fail-RUNTIME_ERROR", **changes) | {"part": part})


def name_of_job(job: Json) -> str:
    """`job-evaluate`, `job-meta_test` and so on; a report's has the name of its analysis."""
    return f"job-{_what(job)}"


def name_of_end(word: str, job: Json, message: Json) -> str:
    """`complete-evaluate`, `complete-flips`, `fail-TIME_LIMIT`, `release`, `release-unreadable`."""
    if word == "complete":
        return f"complete-{_what(job)}"
    if word == "fail":
        return f"fail-{message['verdict']}"
    return f"{word}-unreadable" if message.get("unreadable") else word


def name_of_evidence(message: Json) -> str:
    """`evidence-clean`, `evidence-known`, `evidence-code`, `evidence-weights`, `evidence-unended`."""
    found = api.Evidence.model_validate(message)
    if not found.complete:
        return "evidence-unended"
    told = {"known": found.known, "code": found.code, "weights": found.suspicious}
    return f"evidence-{next((word for word, what in told.items() if what), 'clean')}"


def _what(job: Json) -> str:
    return job["parameters"]["analysis"] if job["kind"] == "analyse" else job["kind"]


def differences(one: Any, other: Any, path: str = "", free: Collection[str] = FREE) -> Iterator[str]:
    """Where two messages differ in fields or types; null and the empty list are like any value of their field."""
    if one is None or other is None:
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() ^ other.keys()):
            yield f"{path}.{key}: only in {'the recorded' if key in one else 'what is said now'}"
        for key in sorted((one.keys() & other.keys()) - set(free)):
            yield from differences(one[key], other[key], f"{path}.{key}", free)
    elif isinstance(one, list) and isinstance(other, list):
        for element in other if one else []:
            yield from differences(one[0], element, f"{path}[]", free)
    elif _type(one) != _type(other):
        yield f"{path}: {_type(one)} was recorded, {_type(other)} is said now"


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else type(value).__name__


class Recorder:
    """Hears what crosses a wire, keeps what says most, and finds what was said otherwise when it was recorded."""

    def __init__(self) -> None:
        self.whole = False  # no field may be missing
        self.problems: list[str] = []
        self.heard: dict[str, Json] = {}
        self._jobs: dict[str, Json] = {}

    def hear(self, method: str, path: str, said: bytes, status: int, answer: bytes) -> None:
        """One request of a worker, and the answer to it; what the platform refused is not kept."""
        word = path.rpartition("/")[2]
        if method == "GET" and "/waiting/" in path and status == 200:
            self._keep("waiting", json.loads(answer))
        if method != "POST" or status not in (200, 204) or word not in HEARD:
            return
        message = json.loads(said)
        if word == "complete" and message.get("evidence"):
            self._keep(name_of_evidence(message["evidence"]), message["evidence"])
        if word in ("complete", "fail", "release"):
            self._keep(name_of_end(word, self._jobs.get(path.split("/")[-2], {}), message), message)
        elif word == "heartbeat" and "tasks_done" not in message["progress"]:
            return  # beats before the first task say less
        elif word == "heartbeat":
            self._keep("heartbeat-measures" if message.get("measures") else word, message)
        else:
            self._keep(word, message)
        if answer and word == "claim":
            job = json.loads(answer)
            self._jobs[job["run_id"]] = job
            self._keep(name_of_job(job), job)
        elif answer and word == "heartbeat":
            self._keep("reply", json.loads(answer))

    def _keep(self, name: str, message: Json) -> None:
        put(self.heard, name, say(name, with_plain_ids(plain(message))))
        if name not in names():
            self.problems.append(f"{name} was never recorded")
            return
        form = say if self.whole and name.startswith(("complete", "job")) else fill
        found = differences(form(name, recorded(name)), form(name, message))
        self.problems += [f"{name}{problem}" for problem in found]


def put(heard: dict[str, Json], name: str, message: Json) -> None:
    """Keep this message, unless another of its name says as much."""
    if name not in heard or _lines(heard[name]) < _lines(message):
        heard[name] = message


def write(heard: dict[str, Json]) -> None:
    """Write what says more than its file, or has other fields or types."""
    for name, message in heard.items():
        if name not in names() or _is_news(recorded(name), message):
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / f"{name}.json").write_text(json.dumps(message, indent=1, sort_keys=True) + "\n")
            _text.cache_clear()


def _is_news(known: Json, message: Json) -> bool:
    return _lines(known) < _lines(message) or any(differences(known, message, free=()))


def _lines(message: Json) -> int:
    return json.dumps(message, indent=1).count("\n")


def with_plain_ids(message: Json) -> Json:
    """The message with ids that count from 1 in the order of their names, in place of drawn ones."""
    text = json.dumps(message, sort_keys=True)
    drawn = sorted({one for string in _STRING.findall(text) for one in _ID.findall(string)})
    known = {one: f"{number:032x}" for number, one in enumerate(drawn, 1)}
    return json.loads(_STRING.sub(lambda string: _ID.sub(lambda found: known[found[0]], string[0]), text))


def plain(message: Any, path: str = "") -> Any:
    """A message without what differs from run to run and machine to machine: times, processors, texts of tracebacks."""
    if isinstance(message, dict):
        return {key: plain(value, f"{path}.{key}") for key, value in message.items()}
    if isinstance(message, list):
        return [plain(value, path) for value in message[:3]]
    name = path.rpartition(".")[2]
    if path.startswith((".usage", ".measures")) and isinstance(message, int | float):
        return type(message)(0)
    if message is not None and name in TIMES:
        return type(message)(1)
    if name in ("hardware", "image_digest", "private", "detail", "url", "kit_version", "release"):
        return name if message else ""
    return _PATH.sub("a path", message) if isinstance(message, str) else message

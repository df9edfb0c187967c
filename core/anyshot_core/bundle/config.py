"""`config.json` of a submission: in which form it wants the meta-training data.

Unknown keys are tolerated (submissions keep their own settings there); known ones are checked, and a bad one
gets a message that names the key, what was read and what is allowed. All of them are named at once, a line each.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_BYTES = 1 << 20
MAX_QUERY = 1_000
EPISODE_KEYS = ("N", "min_N", "max_N", "k", "min_k", "max_k", "query_images_per_class")


class BadConfig(ValueError):
    """A config.json that cannot be honoured; the message names key, value and what is allowed."""


@dataclass(frozen=True, slots=True)
class EpisodeConfig:
    """Ways and shots of a generator: a fixed `ways` or `shots` wins over its range. None where not given."""

    ways: int | None = None
    min_ways: int | None = None
    max_ways: int | None = None
    shots: int | None = None
    min_shots: int | None = 1
    max_shots: int | None = 20
    query_images_per_class: int = 20

    def to_dict(self) -> dict[str, int | None]:
        """With the keys of config.json."""
        values = (
            self.ways,
            self.min_ways,
            self.max_ways,
            self.shots,
            self.min_shots,
            self.max_shots,
            self.query_images_per_class,
        )
        return dict(zip(EPISODE_KEYS, values, strict=True))


TRAIN_DEFAULT = EpisodeConfig(ways=5)
VALID_DEFAULT = EpisodeConfig(min_ways=2, max_ways=20)


@dataclass(frozen=True, slots=True)
class SubmissionConfig:
    """What a submission asks for; `validation_datasets` 0 where it wants none."""

    batches: bool = False
    batch_size: int = 16
    validation_datasets: int = 0
    train: EpisodeConfig = TRAIN_DEFAULT
    valid: EpisodeConfig = VALID_DEFAULT
    ignored: tuple[str, ...] = field(default=())


def read_config(content: bytes, train_datasets: int | None = None) -> SubmissionConfig:
    """Parse and check. `train_datasets` is the size of the pool where it is known. Raises BadConfig."""
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadConfig(f"config.json is not UTF-8 text (byte {error.start}).") from error
    except json.JSONDecodeError as error:
        raise BadConfig(_not_json(error)) from error
    except RecursionError as error:
        raise BadConfig("config.json is nested too deeply.") from error
    if not isinstance(data, dict):
        raise BadConfig(f"config.json: found {_shown(data)}, expected an object such as {{}}.")
    return _config(data, train_datasets)


def _not_json(error: json.JSONDecodeError) -> str:
    return f"config.json, line {error.lineno}, column {error.colno}: {error.msg}."


def _config(data: dict[str, Any], train_datasets: int | None) -> SubmissionConfig:
    known = {"train_data_format", "batch_size", "validation_datasets", "train_config", "valid_config"}
    wrong = _Problems()
    form = data.get("train_data_format", "task")
    if form not in ("task", "batch"):
        wrong.add("train_data_format", form, '"task" or "batch"')
    allowed = f"a whole number of at least {1}"
    batch_size = wrong.whole("batch_size", data.get("batch_size"), 1, 65_536, allowed=allowed)
    limit = None if train_datasets is None else train_datasets - 1
    validation = wrong.whole("validation_datasets", data.get("validation_datasets"), 0, limit)
    train = _episodes("train_config", data.get("train_config"), TRAIN_DEFAULT, wrong)
    valid = _episodes("valid_config", data.get("valid_config"), VALID_DEFAULT, wrong)
    if wrong.found:
        raise BadConfig("\n".join(wrong.found))
    return SubmissionConfig(
        batches=form == "batch",
        batch_size=16 if batch_size is None else batch_size,
        validation_datasets=validation or 0,
        train=train,
        valid=valid,
        ignored=tuple(sorted(set(map(str, data)) - known)),
    )


class _Problems:
    """Gathers what is wrong, so that one answer names all of it."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, key: str, value: Any, allowed: str) -> None:
        self.found.append(f"config.json: {key} is {_shown(value)}; allowed is {allowed}.")

    def whole(
        self, key: str, value: Any, low: int, high: int | None = None, *, allowed: str | None = None
    ) -> int | None:
        """The value, if it is a whole number within the bounds; else None, and a problem unless it is null."""
        if value is None:
            return None
        limit = 10**9 if high is None else high
        if type(value) is int and low <= value <= limit:
            return value
        self.add(key, value, allowed or _whole_or_null(low, high))
        return None


def _whole_or_null(low: int, high: int | None) -> str:
    if high is None:
        return f"a whole number of at least {low}, or null"
    return f"a whole number from {low} to {high}, or null"


def _episodes(name: str, given: Any, default: EpisodeConfig, wrong: _Problems) -> EpisodeConfig:
    if given is None:
        return default
    if not isinstance(given, Mapping):
        wrong.add(name, given, f"an object with {', '.join(EPISODE_KEYS)}")
        return default
    values = default.to_dict() | {key: given[key] for key in EPISODE_KEYS if key in given}
    ways = wrong.whole(f"{name}.N", values["N"], 2)
    shots = wrong.whole(f"{name}.k", values["k"], 1)
    low_ways, high_ways = _range(name, "N", values, 2, wrong)
    low_shots, high_shots = _range(name, "k", values, 1, wrong)
    key = f"{name}.query_images_per_class"
    query = wrong.whole(key, values["query_images_per_class"], 1, MAX_QUERY)
    if values["query_images_per_class"] is None:
        wrong.add(key, None, f"a whole number from {1} to {MAX_QUERY}")
    return EpisodeConfig(ways, low_ways, high_ways, shots, low_shots, high_shots, query or 1)


def _range(
    name: str, letter: str, values: Mapping[str, Any], least: int, wrong: _Problems
) -> tuple[int | None, int | None]:
    """The range of ways (N) or shots (k); not needed, and not checked for order, where a fixed number wins."""
    low_key, high_key = f"min_{letter}", f"max_{letter}"
    low = wrong.whole(f"{name}.{low_key}", values[low_key], 1 if letter == "N" else least)
    high = wrong.whole(f"{name}.{high_key}", values[high_key], least)
    read_both = (low, high) == (values[low_key], values[high_key])  # what could not be read is told already
    if values[letter] is None and read_both:
        if low is None:
            needed = f"a whole number of at least {least}, because {letter} is not fixed"
            wrong.add(f"{name}.{low_key}", None, needed)
        elif high is None or high < low:
            above = f"a whole number of at least {low_key} ({low})"
            wrong.add(f"{name}.{high_key}", high, above)
    return low, high


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 80 else text[:77] + "..."

"""What hidden tasks can say through a run stays within its budget, and every way out is listed."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from pydantic import BaseModel

from anyshot_core.bundle.zipsafety import ZipLimits
from anyshot_core.exits import (
    BUDGET,
    EXCEPTIONS,
    EXITS,
    LEAST_TASKS,
    PACKAGES,
    SOURCE_BYTES,
    exception_name,
    in_steps,
    large_groups,
)
from anyshot_core.wire.worker_api import Complete, Event, Fail, PartFailure, Progress, RunSummary, Usage
from anyshot_scoring.summary import Group

# What of a worker's messages code does not choose while it sees hidden tasks, and what no participant sees.
OURS = {
    "Complete": {"epoch", "summary", "usage", "provenance", "evidence", "failures"},
    "Event": {"seq", "at", "stream", "stage"},
    "Fail": {"epoch", "private", "before_training", "progress", "artifacts", "usage", "provenance"},
    "PartFailure": {"part", "task_index", "ways", "shots"},
    "Progress": {"stage", "tasks_total", "message"},
    "RunSummary": {"metric", "tasks"},
    "Usage": {"meta_train_seconds", "meta_train_memory_peak_bytes", "odd_seconds"},
}


def test_every_field_of_a_workers_messages_is_listed_or_ours() -> None:
    listed = [field for way in EXITS for field in way.fields]
    assert len(set(listed)) == len(listed)
    messages = (Complete, Event, Fail, PartFailure, Progress, RunSummary, Usage)
    fields = {f"{kind.__name__}.{name}" for kind in messages for name in _fields(kind)}
    ours = {f"{kind}.{name}" for kind, names in OURS.items() for name in names}
    assert fields == set(listed) | ours and not set(listed) & ours


def _fields(kind: type) -> set[str]:
    return set(kind.model_fields if issubclass(kind, BaseModel) else kind.__dataclass_fields__)


def test_a_run_says_no_more_than_its_budget() -> None:
    assert sum(way.bits or 0 for way in EXITS) <= BUDGET
    bits = {way.fields[0]: way.bits for way in EXITS}
    names = len({exception_name(name) for name in (*EXCEPTIONS, "pixels_1", "pixels_2")})
    lines = ZipLimits().entries * SOURCE_BYTES
    assert math.log2(names * lines) <= (bits["Fail.message"] or 0)
    shown = {in_steps(used, 7e9) for used in np.linspace(1, 9e9, 10_000)}
    assert math.log2(len(shown)) <= (bits["Usage.memory_peak_bytes"] or 0)


def test_operators_read_the_same_list() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operators" / "threats.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (\d+|as organizers decide|the clock) \|$", page, re.MULTILINE)
    assert [(name, bits) for name, bits in rows if bits.isdecimal()] == [
        (way.name, str(way.bits)) for way in EXITS if way.bits is not None
    ]
    assert [name for name, bits in rows if not bits.isdecimal()] == [
        way.name for way in EXITS if way.bits is None
    ]
    assert f"**{BUDGET} bits**" in page


@pytest.mark.seconds("imports what the sandbox image has")
@pytest.mark.parametrize("module", PACKAGES)
def test_a_known_name_is_an_exception_of_its_package(module: str) -> None:
    found = pytest.importorskip(module, reason=f"install {module.split('.')[0]}, which the sandbox image has")
    assert all(issubclass(getattr(found, name), BaseException) for name in PACKAGES[module])


def test_what_python_raises_is_known_by_its_name() -> None:
    assert [exception_name(name) for name in ("KeyError", "SystemExit", "LinAlgError")] == [
        "KeyError",
        "SystemExit",
        "LinAlgError",
    ]
    assert exception_name("Pixels_12_99") == exception_name("UserWarning") == "An exception of your own"


@pytest.mark.parametrize(
    ("tasks", "shown"),
    [
        ([5, 9, 20], [5, 9, 20]),
        ([1, 9, 20, 7], [9, 20]),  # that of one task would follow from the whole and the others
        ([4, 1, 20], [20]),
        ([2, 2, 2, 6], [6]),
        ([3], []),
        ([], []),
    ],
)
def test_small_groups_are_withheld_and_follow_from_nothing(tasks: list[int], shown: list[int]) -> None:
    groups = [Group(key, 0.5, None, number) for key, number in enumerate(tasks)]
    assert [group.tasks for group in large_groups(groups)] == shown
    withheld = sum(tasks) - sum(shown)
    assert withheld == 0 or withheld >= LEAST_TASKS or not shown

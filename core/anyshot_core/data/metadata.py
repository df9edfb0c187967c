"""`info.json` of a dataset."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anyshot_core.data.problems import PackProblem, Severity

_KEYS = "the keys of Meta-Album's info.json"


class DatasetInfo(BaseModel):
    """The keys of Meta-Album's `info.json`, and those that Anyshot reads besides (domain to the end)."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    dataset_name: str = ""
    dataset_description: str = ""
    total_categories: int | None = None
    total_super_categories: int | None = None
    uniform_number_of_images_per_category: bool | None = None
    minimum_images_per_category: int | None = None
    median_images_per_category: float | None = None
    maximum_images_per_category: int | None = None
    has_super_categories: bool = False
    image_column_name: str = Field(default="FILE_NAME", min_length=1)
    category_column_name: str = Field(default="CATEGORY", min_length=1)
    super_category_column_name: str | None = "SUPER_CATEGORY"
    domain: str = ""
    licence: str = ""
    license: str = ""  # the other spelling occurs
    source: str = ""
    annotation_columns: tuple[str, ...] = ()  # of labels.csv, kept in the pack: attributes, writers


def read_info(path: Path, dataset: str) -> tuple[DatasetInfo | None, list[PackProblem]]:
    """The metadata, or None and what is wrong with the file."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return None, [
            _problem(dataset, _line_of(error), "text that is not UTF-8", "UTF-8", "Save the file as UTF-8.")
        ]
    try:
        return DatasetInfo.model_validate(json.loads(text)), []
    except json.JSONDecodeError as error:
        found = f"text that is not JSON ({error.msg})"
        return None, [_problem(dataset, error.lineno, found, "a JSON object", "Correct the file's syntax.")]
    except ValidationError as error:
        return None, [_key_problem(dataset, dict(item)) for item in error.errors()]


def info_problems(
    dataset: str, info: DatasetInfo, classes: Sequence[str], labels: np.ndarray
) -> list[PackProblem]:
    """Warnings where `info.json` and `labels.csv` disagree about how much there is."""
    counts = np.bincount(labels, minlength=len(classes))
    facts = {
        "total_categories": (info.total_categories, len(classes)),
        "minimum_images_per_category": (info.minimum_images_per_category, int(counts.min())),
        "maximum_images_per_category": (info.maximum_images_per_category, int(counts.max())),
    }
    return [
        PackProblem(
            dataset,
            "info.json",
            None,
            f"{key} {said}",
            f"{real}, as labels.csv has it",
            "Correct info.json; the tasks are drawn from labels.csv.",
            Severity.WARNING,
        )
        for key, (said, real) in facts.items()
        if said is not None and said != real
    ]


def _key_problem(dataset: str, item: dict[str, object]) -> PackProblem:
    where = item.get("loc")
    key = ".".join(str(part) for part in where) if isinstance(where, tuple) else ""
    found = f"{item.get('input')!r:.80} under {key!r}" if key else f"{item.get('input')!r:.80}"
    return _problem(dataset, None, found, f"{_KEYS} ({item.get('msg')})", "Correct or remove this key.")


def _problem(dataset: str, line: int | None, found: str, expected: str, remedy: str) -> PackProblem:
    return PackProblem(dataset, "info.json", line, found, expected, remedy)


def _line_of(error: UnicodeDecodeError) -> int:
    return bytes(error.object)[: error.start].count(b"\n") + 1

"""Images with classes and splits, and the Meta-Album folders they become."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

SIDE = 128


class BadLayout(ValueError):
    """A folder that is not laid out as the dataset usually is; names what is missing."""


@dataclass(frozen=True)
class Records:
    """`load(i)` gives image i in RGB; `classes` and `splits` name its class and its split (train, val, test).

    `columns` hold more of each image by name: its writer, or an attribute as 0 or 1.
    """

    classes: tuple[str, ...]
    splits: tuple[str, ...]
    load: Callable[[int], Image.Image]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.classes)

    def rows(self, split: str) -> list[int]:
        """Images of a split, in order."""
        return [i for i, own in enumerate(self.splits) if own == split]


def require(path: Path, what: str) -> Path:
    """The path; BadLayout if it is not there."""
    if not path.exists():
        raise BadLayout(f"{path}: {what} is missing")
    return path


def as_image(array: np.ndarray) -> Image.Image:
    """uint8 `[h, w]` or `[h, w, 3]`, or floats in [0, 1], as RGB."""
    values = array if array.dtype == np.uint8 else np.round(np.clip(array, 0, 1) * 255).astype(np.uint8)
    return Image.fromarray(values).convert("RGB")


def write_meta_album(records: Records, split: str, target: Path, name: str) -> Path:
    """One split as a Meta-Album folder: images at 128 x 128, `labels.csv`, `info.json`; `all` takes all splits."""
    rows = list(range(len(records))) if split == "all" else records.rows(split)
    if not rows:
        raise BadLayout(f"{name} has no image in the split {split!r}")
    (target / "images").mkdir(parents=True)
    with (target / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["FILE_NAME", "CATEGORY", "SUPER_CATEGORY", *records.columns])
        for row in rows:
            filename = f"{row:07d}.png"
            records.load(row).resize((SIDE, SIDE), Image.Resampling.LANCZOS).save(
                target / "images" / filename
            )
            more = [cells[row] for cells in records.columns.values()]
            writer.writerow([filename, records.classes[row], "", *more])
    counts = sorted(Counter(records.classes[row] for row in rows).values())
    (target / "info.json").write_text(
        json.dumps(info_of(name, split, counts, list(records.columns)), indent=1)
    )
    return target


def info_of(name: str, split: str, counts: list[int], columns: Sequence[str] = ()) -> dict[str, object]:
    """The keys of Meta-Album's `info.json`, and `annotation_columns` where there are some."""
    more: dict[str, object] = {"annotation_columns": list(columns)} if columns else {}
    return more | {
        "dataset_name": name,
        "dataset_description": f"{name}, split {split}",
        "total_categories": len(counts),
        "total_super_categories": 0,
        "uniform_number_of_images_per_category": counts[0] == counts[-1],
        "images_per_category": counts[0] if counts[0] == counts[-1] else None,
        "minimum_images_per_category": counts[0],
        "median_images_per_category": counts[len(counts) // 2],
        "maximum_images_per_category": counts[-1],
        "has_super_categories": False,
        "image_column_name": "FILE_NAME",
        "category_column_name": "CATEGORY",
        "super_category_column_name": "SUPER_CATEGORY",
    }

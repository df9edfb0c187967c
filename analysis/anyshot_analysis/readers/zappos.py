"""UT Zappos50K: images in category folders and `meta-data-bin.csv` with binary attributes."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.readers.records import BadLayout, require


@dataclass(frozen=True)
class AttributeTable:
    """`table` bool `[images, attributes]`; image files by their catalogue number.

    Feasible pairs and the split of attributes are drawn by the starting kit's `protocols.attribute_pairs`.
    """

    files: tuple[Path, ...]
    attributes: tuple[str, ...]
    table: NDArray[np.bool_]


def read_zappos(folder: Path) -> AttributeTable:
    """Every image that has a line in the table; BadLayout if the two do not meet."""
    path = require(folder / "meta-data-bin.csv", "the table of binary attributes")
    with path.open(newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        rows = {row[0]: [cell.strip() == "1" for cell in row[1:]] for row in reader if row}
    if not header or header[0] != "CID" or any(len(r) != len(header) - 1 for r in rows.values()):
        raise BadLayout(f"{path}: needs a column CID and one column an attribute")
    images = {number_of(p): p for p in sorted(folder.rglob("*.jpg"))}
    shared = [number for number in rows if number in images]
    if not shared:
        raise BadLayout(f"{folder}: no image belongs to a line of {path.name}")
    files = tuple(images[number] for number in shared)
    return AttributeTable(files, tuple(header[1:]), np.array([rows[number] for number in shared], dtype=bool))


def number_of(path: Path) -> str:
    """Files are NUMBER.COLOUR.jpg, the table writes NUMBER-COLOUR."""
    return path.stem.replace(".", "-")

"""FEMNIST in LEAF's layout: JSON files with users (writers) and 28 x 28 images."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anyshot_analysis.readers.records import BadLayout, Records, as_image

SIZE = 28
WRITERS = {"train": 2509, "val": 538, "test": 538}


@dataclass(frozen=True)
class WrittenImages:
    """Records, and who wrote each image: tasks are a writer's own classes."""

    records: Records
    writers: tuple[str, ...]


def read_femnist(folder: Path, shares: dict[str, int] = WRITERS, seed: int = 0) -> WrittenImages:
    """All `*.json` of `folder`; writers are dealt to train, val and test in the proportion of `shares`.

    With the full dataset and the default shares these are the 2,509 / 538 / 538 writers of the paper.
    """
    users: dict[str, tuple[list[list[float]], list[int]]] = {}
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text())
        for user in data.get("users", []):
            own = data["user_data"][user]
            users[user] = (own["x"], own["y"])
    if not users:
        raise BadLayout(f"{folder}: no JSON file with users, as LEAF writes them")
    names = sorted(users)
    order = np.random.default_rng(seed).permutation(len(names))
    ends = np.round(np.cumsum(list(shares.values())) / sum(shares.values()) * len(names)).astype(int)
    side = np.array(list(shares))[
        np.searchsorted(ends, np.argsort(order), side="right").clip(max=len(shares) - 1)
    ]
    pixels, classes, splits, writers = [], [], [], []
    for name, split in zip(names, side, strict=True):
        images, labels = users[name]
        pixels += images
        classes += [str(label) for label in labels]
        splits += [str(split)] * len(labels)
        writers += [name] * len(labels)
    shape = (SIZE, SIZE)
    records = Records(tuple(classes), tuple(splits), lambda i: as_image(np.asarray(pixels[i]).reshape(shape)))
    return WrittenImages(records, tuple(writers))

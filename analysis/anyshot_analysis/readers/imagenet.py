"""miniImageNet (Ravi and Larochelle's csv splits) and tieredImageNet (arrays)."""

import csv
from pathlib import Path

import numpy as np
from PIL import Image

from anyshot_analysis.readers.records import BadLayout, Records, as_image, require

PARTS = ("train", "val", "test")


def read_csv_splits(folder: Path) -> Records:
    """miniImageNet: `images/FILE` and `train.csv`, `val.csv`, `test.csv` with the columns filename and label."""
    files, classes, splits = [], [], []
    for split in PARTS:
        with require(folder / f"{split}.csv", "a split").open(newline="") as file:
            for row in csv.DictReader(file):
                if not {"filename", "label"} <= set(row):
                    raise BadLayout(
                        f"{folder / f'{split}.csv'}: needs the columns filename and label, has {list(row)}"
                    )
                files.append(require(folder / "images" / row["filename"], "a listed image"))
                classes.append(row["label"])
                splits.append(split)

    def load(index: int) -> Image.Image:
        with Image.open(files[index]) as image:
            return image.convert("RGB")

    return Records(tuple(classes), tuple(splits), load)


def read_tiered(folder: Path) -> Records:
    """tieredImageNet: `SPLIT_images.npz` (`images` uint8 `[n, h, w, 3]`) and `SPLIT_labels.npz` (`labels` `[n]`).

    The original pickles are not opened, since opening one runs whatever is in it; save their arrays as .npz once.
    """
    arrays, classes, splits = [], [], []
    for split in PARTS:
        images = stored(folder / f"{split}_images.npz", "images")
        labels = stored(folder / f"{split}_labels.npz", "labels")
        if len(images) != len(labels):
            raise BadLayout(f"{folder}: {len(images)} images and {len(labels)} labels in the split {split}")
        arrays.append(images)
        classes += [f"{split}-{int(label)}" for label in labels]
        splits += [split] * len(labels)
    starts = np.cumsum([0] + [len(a) for a in arrays])

    def load(index: int) -> Image.Image:
        part = int(np.searchsorted(starts, index, side="right")) - 1
        return as_image(arrays[part][index - starts[part]])

    return Records(tuple(classes), tuple(splits), load)


def stored(path: Path, key: str) -> np.ndarray:
    """An array of an .npz file, without pickles."""
    with np.load(require(path, "an array file"), allow_pickle=False) as file:
        if key not in file.files:
            raise BadLayout(f"{path}: has {file.files}, needs {key!r}")
        return file[key]

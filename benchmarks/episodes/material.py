"""JPEG datasets to measure on: generated, or the real ones of `--data`."""

import csv
import json
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

from anyshot_core.data.dataset import read_dataset
from anyshot_core.data.images import SIDE

DATASETS, CLASSES, IMAGES = 10, 25, 40  # 10,000 images


def jpeg_datasets(folder: Path) -> list[Path]:
    """Ten datasets of 25 classes x 40 JPEGs of 128x128, quality 90, about 5 KB each, as Meta-Album's are."""
    sets = [folder / f"GEN_{number}" for number in range(DATASETS)]
    with ProcessPoolExecutor() as pool:
        list(pool.map(_write, sets))
    return sets


def _write(folder: Path) -> None:
    if (folder / "info.json").exists():
        return
    (folder / "images").mkdir(parents=True)
    random = np.random.RandomState(int(folder.name.removeprefix("GEN_")))
    rows = []
    for c in range(CLASSES):
        base = random.randint(0, 256, (6, 6, 3))
        for number in range(IMAGES):
            name = f"{c:02}_{number:02}.jpg"
            coarse = np.clip(base + random.randint(-60, 60, base.shape), 0, 255).astype(np.uint8)
            picture = np.asarray(
                Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC), dtype=np.int16
            )
            noisy = np.clip(picture + random.randint(-8, 9, picture.shape), 0, 255).astype(np.uint8)
            Image.fromarray(noisy).save(folder / "images" / name, quality=90)
            rows.append((name, f"class {c}"))
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("FILE_NAME", "CATEGORY"), *rows])
    (folder / "info.json").write_text(json.dumps({"dataset_name": folder.name}))


def image_files(sets: list[Path]) -> list[list[Path]]:
    """The image files of each dataset, row by row."""
    return [[one.images / file for file in one.files] for one in map(read_dataset, sets)]


def forget(paths: list[Path]) -> None:
    """Drop files from the page cache (written back first)."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)

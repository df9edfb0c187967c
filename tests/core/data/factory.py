"""Small datasets on disk, and packs without pixels for tests that look at row numbers only."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from anyshot_core.data.layout import PackMeta
from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool


def write_dataset(
    folder: Path,
    classes: int = 3,
    images: int = 4,
    *,
    size: tuple[int, int] = (128, 128),
    domain: str = "",
    ending: str = ".png",
    super_classes: bool = False,
) -> Path:
    """A Meta-Album folder of random images; image i of class c is `c{c}_{i}`."""
    (folder / "images").mkdir(parents=True)
    random = np.random.RandomState(7)
    rows = []
    for image in range(images):
        for c in range(classes):
            name = f"c{c}_{image}{ending}"
            pixels = random.randint(0, 256, (size[1], size[0], 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / "images" / name)
            rows.append([name, f"class {c}", f"group {c % 2}" if super_classes else ""])
    write_labels(folder, rows)
    info = {
        "dataset_name": folder.name,
        "dataset_description": "random pixels",
        "total_categories": classes,
        "total_super_categories": 2 if super_classes else 0,
        "uniform_number_of_images_per_category": True,
        "minimum_images_per_category": images,
        "median_images_per_category": float(images),
        "maximum_images_per_category": images,
        "has_super_categories": super_classes,
        "image_column_name": "FILE_NAME",
        "category_column_name": "CATEGORY",
        "super_category_column_name": "SUPER_CATEGORY",
    }
    if domain:
        info["domain"] = domain
    (folder / "info.json").write_text(json.dumps(info))
    return folder


def write_labels(
    folder: Path,
    rows: Sequence[Sequence[str]],
    header: Sequence[str] = ("FILE_NAME", "CATEGORY", "SUPER_CATEGORY"),
) -> None:
    """Write `labels.csv`."""
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def labels_of(folder: Path) -> list[list[str]]:
    """The rows of `labels.csv` without its header."""
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def bare_pack(labels: Sequence[int] | np.ndarray, name: str = "bare", domain: str = "") -> Pack:
    """A pack whose pixels are all zero and take no memory."""
    numbers = np.asarray(labels, dtype=np.int64)
    count = int(numbers.max()) + 1
    meta = PackMeta(
        name=name,
        domain=domain,
        classes=[f"class {c}" for c in range(count)],
        super_classes=[""] * count,
        images=len(numbers),
        block_digests=[],
        labels_digest=f"{name} {numbers.tobytes().hex()[:64]}",
        source_digest="",
    )
    images = np.broadcast_to(np.zeros(1, dtype=np.uint8), (len(numbers), 3, 128, 128))
    return Pack(Path(name), meta, f"digest of {name}", images, numbers)


def bare_pool(*sizes: tuple[int, int]) -> Pool:
    """A pool of bare packs of (classes, images a class), class c in consecutive rows."""
    return Pool(
        bare_pack(np.repeat(np.arange(c), n), f"D{i}", f"domain {i}") for i, (c, n) in enumerate(sizes)
    )

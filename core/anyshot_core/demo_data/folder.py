"""Write the generated datasets as Meta-Album folders."""

import csv
import json
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from anyshot_core.demo_data import drawing

CLASSES, IMAGES = 20, 40
_COMPLETE = "made.json"
_RECIPE = 1  # count up when a drawing changes, so that folders made before are made again


@dataclass(frozen=True)
class DemoDataset:
    """One generated dataset: its name, domain, set and how an image is drawn."""

    name: str
    domain: str
    variant: int
    draw: Callable[[int, int, np.random.Generator], Image.Image]


_DOMAINS = (
    ("OCR", "printed characters", ("LAT", "GRK", "CYR"), drawing.character),
    ("TXT", "textures", ("SIN", "SQR", "CRS"), drawing.texture),
    ("SHP", "shapes", ("FIL", "LIN", "DOT"), drawing.shape),
    ("FRC", "fractals", ("TWO", "THR", "FOU"), drawing.fractal),
)
DATASETS = tuple(
    DemoDataset(f"{prefix}_{names[variant]}", domain, variant, draw)
    for variant in range(3)
    for prefix, domain, names, draw in _DOMAINS
)

GENERATED_TEST_DATASETS = len(_DOMAINS)  # one a domain, in the set to meta-test on


def make_demo_data(
    folder: Path,
    *,
    classes: int = CLASSES,
    images: int = IMAGES,
    seed: int = 0,
    datasets: tuple[str, ...] | None = None,
) -> Path:
    """Write the datasets (all, or those named) into `folder`, with `info/sets.json`; returns the folder.

    A folder that holds the same data already is left alone. At most 20 `classes` a dataset.
    """
    chosen = [d for d in DATASETS if datasets is None or d.name in datasets]
    recipe = {
        "recipe": _RECIPE,
        "classes": classes,
        "images": images,
        "seed": seed,
        "datasets": [d.name for d in chosen],
    }
    marker = folder / "info" / _COMPLETE
    if marker.exists() and json.loads(marker.read_text()) == recipe:
        return folder
    (folder / "info").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        list(
            pool.map(_write_dataset, *zip(*[(folder, d, classes, images, seed) for d in chosen], strict=True))
        )
    sets = {f"set-{v}": [d.name for d in chosen if d.variant == v] for v in range(3)}
    (folder / "info" / "sets.json").write_text(json.dumps(sets, indent=1) + "\n")
    splits = {"meta-train": sets["set-0"], "meta-test": sets["set-1"]}
    (folder / "info" / "meta_splits.txt").write_text(json.dumps(splits, indent=1) + "\n")
    marker.write_text(json.dumps(recipe) + "\n")
    return folder


def _write_dataset(folder: Path, dataset: DemoDataset, classes: int, images: int, seed: int) -> None:
    target = folder / dataset.name
    (target / "images").mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([seed, dataset.variant, *dataset.name.encode()])
    rows = []
    # Shuffled, so that neither a file's name nor its row tells the class.
    for number, place in enumerate(rng.permutation(classes * images)):
        category = int(place) // images
        name = f"{dataset.name}_{number:05d}.jpg"
        dataset.draw(dataset.variant, category, rng).save(target / "images" / name, quality=90)
        rows.append((name, f"class_{category:02d}", ""))
    with (target / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("FILE_NAME", "CATEGORY", "SUPER_CATEGORY"), *rows])
    (target / "info.json").write_text(json.dumps(_info(dataset, classes, images), indent=1) + "\n")


def _info(dataset: DemoDataset, classes: int, images: int) -> dict[str, object]:
    return {
        "dataset_name": dataset.name,
        "dataset_description": f"Generated {dataset.domain} for demonstrations and tests; not a benchmark.",
        "domain": dataset.domain,
        "total_categories": classes,
        "total_super_categories": 0,
        "uniform_number_of_images_per_category": True,
        "minimum_images_per_category": images,
        "median_images_per_category": float(images),
        "maximum_images_per_category": images,
        "has_super_categories": False,
        "image_column_name": "FILE_NAME",
        "category_column_name": "CATEGORY",
        "super_category_column_name": "SUPER_CATEGORY",
    }

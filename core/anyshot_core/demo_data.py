"""A generated meta-dataset in Meta-Album format, for the demo and the tests.

It is synthetic and says so: four domains that differ really (printed characters, textures, shapes, fractals),
each with one dataset a set, 20 classes of 40 images. It is meant to show a competition at work, not to
measure methods: use real datasets for that. Class `c` of a variant is the same for any seed.
"""

import csv
import json
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

CLASSES, IMAGES = 20, 40
_COMPLETE = "made.json"
_RECIPE = 1  # count up when a drawing changes, so that folders made before are made again

_SIDE = 128
ALPHABETS = ("ABCDEFGHJKLMNPQRSTUV", "ΓΔΘΛΞΠΣΦΨΩαβγδεζηθλξ", "БГДЖЗИЙЛПФЦЧШЩЪЫЬЭЮЯ")


def _class_stream(domain: str, variant: int, category: int) -> np.random.Generator:
    """The random numbers that define a class, apart from those that vary its images."""
    return np.random.default_rng([sum(domain.encode()), variant, category])


@cache
def _fonts() -> tuple[Path, ...]:
    """Font files that matplotlib bundles and that hold Latin, Greek and Cyrillic letters."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return tuple(path for path in sorted(folder.glob("DejaVuS*.ttf")) if "Display" not in path.name)


def character(variant: int, category: int, rng: np.random.Generator) -> Image.Image:
    """A printed letter in some font, size, place, tilt and pair of colours."""
    font = ImageFont.truetype(str(_fonts()[rng.integers(len(_fonts()))]), int(rng.integers(48, 88)))
    dark, light = rng.integers(0, 110, 3), rng.integers(150, 256, 3)
    paper, ink = (light, dark) if rng.random() < 0.7 else (dark, light)
    image = Image.new("RGB", (_SIDE, _SIDE), tuple(paper.tolist()))
    where = (_SIDE / 2 + rng.uniform(-14, 14), _SIDE / 2 + rng.uniform(-14, 14))
    ImageDraw.Draw(image).text(
        where, ALPHABETS[variant][category], fill=tuple(ink.tolist()), font=font, anchor="mm"
    )
    return image.rotate(rng.uniform(-20, 20), Image.Resampling.BILINEAR, fillcolor=tuple(paper.tolist()))


def texture(variant: int, category: int, rng: np.random.Generator) -> Image.Image:
    """Two gratings and band-limited noise; orientation, frequency and mixture make the class."""
    of_class = _class_stream("texture", variant, category)
    angles = of_class.uniform(0, np.pi, 2) + rng.normal(0, 0.06, 2)
    waves = of_class.uniform(3, 14, 2) * rng.uniform(0.9, 1.1, 2)
    weights = of_class.dirichlet([1.0, 1.0, 0.6])
    y, x = np.mgrid[0:_SIDE, 0:_SIDE] / _SIDE
    field = np.zeros((_SIDE, _SIDE))
    for angle, wave, weight in zip(angles, waves, weights[:2], strict=True):
        phase = 2 * np.pi * (wave * (x * np.cos(angle) + y * np.sin(angle)) + rng.random())
        field += weight * (np.sign(np.sin(phase)) if variant == 1 else np.sin(phase))
    field += weights[2] * _smooth_noise(rng, 2 + int(of_class.integers(0, 5) * (variant + 1)))
    return _coloured(field / (np.abs(field).max() + 1e-9), of_class, rng)


def shape(variant: int, category: int, rng: np.random.Generator) -> Image.Image:
    """A polygon, a star or a ring of dots with as many corners as the class says, on a noisy ground."""
    ground = rng.integers(0, 256, 3)
    image = Image.new("RGB", (_SIDE, _SIDE), tuple(ground.tolist()))
    draw = ImageDraw.Draw(image)
    ink = tuple(((ground + rng.integers(90, 166, 3)) % 256).tolist())
    corners, style = 3 + category // 2, category % 2
    centre, radius, turn = _SIDE / 2 + rng.uniform(-16, 16, 2), rng.uniform(28, 46), rng.uniform(0, 2 * np.pi)
    angles = turn + 2 * np.pi * np.arange(2 * corners) / (2 * corners)
    inner = (0.45, 0.75, 0.6)[variant] if style else np.cos(np.pi / corners)
    radii = np.where(np.arange(2 * corners) % 2, inner, 1.0) * radius
    points = [
        (float(a), float(b))
        for a, b in zip(centre[0] + radii * np.cos(angles), centre[1] + radii * np.sin(angles), strict=True)
    ]
    if variant == 0:
        draw.polygon(points, fill=ink)
    elif variant == 1:
        draw.line([*points, points[0]], fill=ink, width=4, joint="curve")
    else:
        for a, b in points if style else points[::2]:
            draw.ellipse((a - 5, b - 5, a + 5, b + 5), fill=ink)
    noise = rng.normal(0, 10, (_SIDE, _SIDE, 1))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def fractal(variant: int, category: int, rng: np.random.Generator) -> Image.Image:
    """Escape times of z -> z^(variant + 2) + c, zoomed and turned; the constant c makes the class."""
    of_class = _class_stream("fractal", variant, category)
    radius = 0.62 + 0.25 * of_class.random()
    constant = radius * np.exp(1j * of_class.uniform(0, 2 * np.pi)) + rng.normal(0, 0.004)
    y, x = np.mgrid[0:_SIDE, 0:_SIDE] / _SIDE - 0.5
    z = (x + 1j * y) * rng.uniform(1.8, 2.6) * np.exp(1j * rng.uniform(-0.4, 0.4)) + rng.normal(0, 0.1)
    escape = np.zeros(z.shape)
    for _ in range(24):
        alive = np.abs(z) < 4
        escape += alive
        z = np.where(alive, z ** (variant + 2) + constant, z)
    return _coloured(
        np.sqrt((escape - escape.min()) / max(float(np.ptp(escape)), 1.0)) * 2 - 1, of_class, rng
    )


def _smooth_noise(rng: np.random.Generator, cells: int) -> np.ndarray:
    small = Image.fromarray(rng.normal(0, 1, (cells + 2, cells + 2)).astype(np.float32))
    return np.asarray(small.resize((_SIDE, _SIDE), Image.Resampling.BICUBIC))


def _coloured(field: np.ndarray, of_class: np.random.Generator, rng: np.random.Generator) -> Image.Image:
    """Map a field in [-1, 1] to a ramp between two colours near those of the class."""
    ends = np.clip(of_class.integers(0, 256, (2, 3)) + rng.normal(0, 45, (2, 3)), 0, 255)
    share = (field[..., None] + 1) / 2
    pixels = ends[0] * (1 - share) + ends[1] * share + rng.normal(0, 6, (_SIDE, _SIDE, 1))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


@dataclass(frozen=True)
class DemoDataset:
    """One generated dataset: its name, domain, set and how an image is drawn."""

    name: str
    domain: str
    variant: int
    draw: Callable[[int, int, np.random.Generator], Image.Image]


_DOMAINS = (
    ("OCR", "printed characters", ("LAT", "GRK", "CYR"), character),
    ("TXT", "textures", ("SIN", "SQR", "CRS"), texture),
    ("SHP", "shapes", ("FIL", "LIN", "DOT"), shape),
    ("FRC", "fractals", ("TWO", "THR", "FOU"), fractal),
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

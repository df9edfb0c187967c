"""Writes a source as a dataset in Meta-Album's format: upright, cut to the central square, 128 x 128, RGB."""

import csv
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from anyshot_core.data.images import UnreadableImage, read_any
from anyshot_core.data.importing.images import CannotImport, Source, SourceImage
from anyshot_core.names import NAME_WORDS, is_name

_UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class About:
    """What the organizer says of a dataset; empty texts leave what the source says of itself."""

    name: str
    domain: str = ""
    description: str = ""
    licence: str = ""
    origin: str = ""


@dataclass(frozen=True)
class ImportChoice:
    """Which images are taken, and how they are written."""

    least: int = 1  # images that a class needs to be taken
    most: int | None = None  # images that are taken of a class, drawn with the seed
    seed: int = 0
    skip_bad: bool = False
    lossless: bool = True  # PNG, or JPEG of quality 95
    super_classes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ImportedData:
    """What was written, and what was left out."""

    folder: Path
    images: int
    classes: int
    super_classes: int
    licence: str
    small: dict[str, int]  # classes with too few images, with how many they have
    bad: list[tuple[str, str]]  # images that cannot be read, and why
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Row:
    number: int  # of the file as it was read
    category: str
    super_category: str


def write_dataset(
    source: Source,
    target: Path,
    about: About,
    choice: ImportChoice | None = None,
    on_image: Callable[[int], object] = lambda done: None,
) -> ImportedData:
    """Write the images of a source as `target/NAME`; file names and the order of rows tell no class.

    Raises:
        CannotImport: the name is no name, the folder is there already, an image cannot be read, no class is left, or a
            class is in two super-classes.
    """
    chosen = choice or ImportChoice()
    folder = _free_folder(target, about.name)
    unfinished = folder.with_name(f".{folder.name}{_UNFINISHED}")
    shutil.rmtree(unfinished, ignore_errors=True)
    (unfinished / "images").mkdir(parents=True)
    try:
        seats, seen, bad = _store(source, unfinished / "images", chosen, on_image)
        kept, small = _shuffle(seats, seen, chosen)
        _require_super_classes(kept)
        _name_files(unfinished / "images", seats, kept, about.name, chosen)
        _write_tables(unfinished, source, about, kept, chosen)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return ImportedData(
        folder=folder,
        images=len(kept),
        classes=len({row.category for row in kept}),
        super_classes=len({row.super_category for row in kept} - {""}),
        licence=about.licence or source.licence,
        small=small,
        bad=bad,
        notes=source.notes,
    )


def _free_folder(target: Path, name: str) -> Path:
    if not is_name(name):
        raise CannotImport(f"{name!r} is no name of a dataset, which has {NAME_WORDS}; for instance PLT_SDL.")
    if (target / name).exists():
        raise CannotImport(f"{target / name} is there already. Remove it, or choose another --name or --out.")
    return target / name


def _store(
    source: Source, images: Path, choice: ImportChoice, on_image: Callable[[int], object]
) -> tuple[dict[str, list[_Row]], Counter[str], list[tuple[str, str]]]:
    """Write the images that are drawn; returns them by class, how many each class has, and which cannot be read.

    Each class has `choice.most` seats. When they are full, the k-th image of the class takes a drawn seat with
    probability most / k, so that every image has the same chance (Vitter, ACM TOMS 1985); the others are not decoded.
    """
    seats: dict[str, list[_Row]] = defaultdict(list)
    seen: Counter[str] = Counter()
    bad: list[tuple[str, str]] = []
    draw = np.random.default_rng(choice.seed)
    for number, found in enumerate(source.images):
        own = seats[found.category]
        full = choice.most is not None and len(own) >= choice.most
        seat = int(draw.integers(seen[found.category] + 1)) if full else len(own)
        if full and seat >= len(own):
            seen[found.category] += 1
            continue
        try:
            picture = read_any(found.content)
        except UnreadableImage as error:
            bad.append((found.name, str(error)))
            continue
        picture.save(images / f"{number}.{_ending(choice)}", **_options(choice))
        seen[found.category] += 1
        own[seat : seat + 1], out = [_row(found, number, choice)], own[seat : seat + 1]
        for row in out:
            (images / f"{row.number}.{_ending(choice)}").unlink()
        on_image(sum(seen.values()))
    if bad and not choice.skip_bad:
        shown = "; ".join(f"{name}: {reason}" for name, reason in bad[:5])
        raise CannotImport(
            f"{len(bad)} images cannot be read ({shown}). Replace them, or leave them out with --skip-bad."
        )
    if not seen:
        raise CannotImport("The source holds no image.")
    return seats, seen, bad


def _row(found: SourceImage, number: int, choice: ImportChoice) -> _Row:
    above = choice.super_classes.get(found.category, found.super_category)
    return _Row(number, found.category, above)


def _ending(choice: ImportChoice) -> str:
    return "png" if choice.lossless else "jpg"


def _options(choice: ImportChoice) -> dict[str, Any]:
    return {} if choice.lossless else {"quality": 95, "subsampling": 0}


def _shuffle(
    seats: Mapping[str, list[_Row]], seen: Counter[str], choice: ImportChoice
) -> tuple[list[_Row], dict[str, int]]:
    """The rows of the classes with enough images, in an order that tells no class; and the classes with too few."""
    small = {name: count for name, count in seen.items() if count < choice.least}
    rows = [row for name in sorted(set(seen) - set(small)) for row in seats[name]]
    if not rows:
        raise CannotImport(f"No class has {choice.least} images; the largest has {max(small.values())}.")
    order = np.random.default_rng(choice.seed).permutation(len(rows))
    return [rows[place] for place in order], small


def _require_super_classes(kept: list[_Row]) -> None:
    above: dict[str, str] = {}
    for row in kept:
        if above.setdefault(row.category, row.super_category) != row.super_category:
            both = f"{above[row.category]} and {row.super_category}"
            raise CannotImport(
                f"The class {row.category} is in two super-classes, {both}. Rename one of the two."
            )


def _name_files(
    images: Path, seats: Mapping[str, list[_Row]], kept: list[_Row], name: str, choice: ImportChoice
) -> None:
    """Give the kept files their names, which tell no class, and remove the others."""
    ending = _ending(choice)
    for place, row in enumerate(kept):
        (images / f"{row.number}.{ending}").rename(images / f"{name}_{place:05}.{ending}")
    for row in (row for own in seats.values() for row in own):
        (images / f"{row.number}.{ending}").unlink(missing_ok=True)


def _write_tables(folder: Path, source: Source, about: About, kept: list[_Row], choice: ImportChoice) -> None:
    counts = Counter(row.category for row in kept).values()
    super_classes = {row.super_category for row in kept} - {""}
    with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["FILE_NAME", "CATEGORY", "SUPER_CATEGORY"])
        for place, row in enumerate(kept):
            table.writerow([f"{about.name}_{place:05}.{_ending(choice)}", row.category, row.super_category])
    info = {
        "dataset_name": about.name,
        "dataset_description": about.description or source.description,
        "total_categories": len(counts),
        "total_super_categories": len(super_classes),
        "uniform_number_of_images_per_category": len(set(counts)) == 1,
        "minimum_images_per_category": min(counts),
        "median_images_per_category": float(median(counts)),
        "maximum_images_per_category": max(counts),
        "has_super_categories": bool(super_classes),
        "image_column_name": "FILE_NAME",
        "category_column_name": "CATEGORY",
        "super_category_column_name": "SUPER_CATEGORY",
        "domain": about.domain or source.domain,
        "licence": about.licence or source.licence,
        "source": about.origin or source.origin,
    }
    text = json.dumps(info, indent=4, ensure_ascii=False) + "\n"
    (folder / "info.json").write_text(text, encoding="utf-8")

"""Read and check a dataset folder: `images/`, `labels.csv` and `info.json`, as Meta-Album lays them out."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from anyshot_core.data.images import UnreadableImage, WrongMode, decode_image
from anyshot_core.data.labels import ImageRow, read_rows, row_problems
from anyshot_core.data.metadata import DatasetInfo, info_problems, read_info
from anyshot_core.data.problems import BadDataset, PackProblem, bad_image, errors
from anyshot_core.names import NAME_WORDS, is_name


@dataclass(frozen=True)
class Dataset:
    """A dataset on disk: row i is `files[i]` (relative to `images/`) with class `labels[i]`.

    `classes` are numbered in the order of their first appearance in `labels.csv`; `super_classes[c]` is ''
    where class c has none. `labels` is int64 `[n]`.
    """

    folder: Path
    name: str
    info: DatasetInfo
    files: tuple[str, ...]
    labels: np.ndarray
    classes: tuple[str, ...]
    super_classes: tuple[str, ...]
    annotations: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def images(self) -> Path:
        """Folder of the image files."""
        return self.folder / "images"


def read_dataset(folder: str | os.PathLike[str], *, skip_bad: bool = False) -> Dataset:
    """Read a Meta-Album folder; images are not opened.

    With `skip_bad`, rows that cannot be used are left out; what concerns the whole folder still raises.

    Raises:
        BadDataset: the folder breaks the format; every error found is listed.
    """
    dataset, problems = inspect_dataset(Path(folder))
    if dataset is None or (errors(problems) and not skip_bad):
        raise BadDataset(errors(problems))
    return dataset


def check_dataset(
    folder: str | os.PathLike[str], *, images: bool = True, least_images: int = 0
) -> list[PackProblem]:
    """Everything that is wrong with a dataset folder, warnings included; an empty list is a good dataset.

    Args:
        images: also decode every image.
        least_images: what each class needs, for instance shots + query images of a phase.
    """
    dataset, problems = inspect_dataset(Path(folder))
    if dataset is None:
        return problems
    if images:
        problems += image_problems(dataset)
    return problems + _small_classes(dataset, least_images)


def inspect_dataset(folder: Path) -> tuple[Dataset | None, list[PackProblem]]:
    """The dataset made of the usable rows (None if there is nothing to use) and all problems of its tables."""
    name = folder.resolve().name
    missing = _missing_parts(folder, name)
    if missing:
        return None, missing
    info, problems = read_info(folder / "info.json", name)
    if info is None:
        return None, problems
    if not is_name(info.dataset_name or name):
        return None, [*problems, _no_name(name, info)]
    rows, found = read_rows(folder / "labels.csv", name, info)
    problems += found
    if rows is None:
        return None, problems
    usable, found = row_problems(rows, folder / "images", name)
    problems += found
    if not usable:
        return None, [*problems, _no_classes(name)]
    dataset = _dataset_of(folder, info, usable)
    return dataset, problems + info_problems(name, info, dataset.classes, dataset.labels)


def image_problems(dataset: Dataset, rows: Sequence[int] | None = None) -> list[PackProblem]:
    """Decode the images and report those that cannot become 8-bit RGB [3, 128, 128]."""
    chosen = range(len(dataset.files)) if rows is None else rows
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        found = pool.map(lambda row: image_problem(dataset.images, dataset.files[row], dataset.name), chosen)
        return [problem for problem in found if problem is not None]


def image_problem(images: Path, file: str, dataset: str) -> PackProblem | None:
    """What is wrong with one image, or None."""
    try:
        decode_image(images / file)
    except (UnreadableImage, WrongMode) as error:
        return bad_image(dataset, file, str(error), isinstance(error, WrongMode))
    return None


def keep_rows(dataset: Dataset, rows: np.ndarray) -> Dataset:
    """The dataset made of some rows only, in ascending order; classes are numbered anew."""
    labels = dataset.labels[rows]
    old, first = np.unique(labels, return_index=True)
    old = old[np.argsort(first)]
    renumbered = np.full(len(dataset.classes), -1, dtype=np.int64)
    renumbered[old] = np.arange(len(old))
    return replace(
        dataset,
        files=tuple(dataset.files[row] for row in rows),
        labels=renumbered[labels],
        classes=tuple(dataset.classes[c] for c in old),
        super_classes=tuple(dataset.super_classes[c] for c in old),
        annotations={name: tuple(cells[row] for row in rows) for name, cells in dataset.annotations.items()},
    )


def _missing_parts(folder: Path, name: str) -> list[PackProblem]:
    if not folder.is_dir():
        remedy = "Give the path of a dataset folder in Meta-Album's format."
        return [PackProblem(name, str(folder), None, "no folder", "a dataset folder", remedy)]
    wanted = {"images": Path.is_dir, "labels.csv": Path.is_file, "info.json": Path.is_file}
    remedy = "A dataset is a folder with images/, labels.csv and info.json; see the organizers' page on data."
    return [
        PackProblem(name, part, None, "nothing", "a folder" if part == "images" else "a file", remedy)
        for part, exists in wanted.items()
        if not exists(folder / part)
    ]


def _dataset_of(folder: Path, info: DatasetInfo, rows: Sequence[ImageRow]) -> Dataset:
    numbers: dict[str, int] = {}
    super_classes: dict[str, str] = {}
    for row in rows:
        numbers.setdefault(row.category, len(numbers))
        super_classes.setdefault(row.category, row.super_category)
    return Dataset(
        folder=folder,
        name=info.dataset_name or folder.resolve().name,
        info=info,
        files=tuple(row.file for row in rows),
        labels=np.array([numbers[row.category] for row in rows], dtype=np.int64),
        classes=tuple(numbers),
        super_classes=tuple(super_classes.values()),
        annotations={
            column: tuple(row.annotations[place] for row in rows)
            for place, column in enumerate(info.annotation_columns)
        },
    )


def _no_name(folder: str, info: DatasetInfo) -> PackProblem:
    remedy = "Give the dataset another dataset_name in info.json."
    return PackProblem(
        folder, "info.json", None, f"the name {info.dataset_name or folder!r:.120}", NAME_WORDS, remedy
    )


def _no_classes(name: str) -> PackProblem:
    remedy = "List the images and their categories in labels.csv, one a line."
    return PackProblem(name, "labels.csv", None, "zero classes", "at least one image with a category", remedy)


def _small_classes(dataset: Dataset, least: int) -> list[PackProblem]:
    counts = np.bincount(dataset.labels, minlength=len(dataset.classes))
    remedy = f"Add images, remove the class, or ask for fewer shots and query images than {least} together."
    return [
        PackProblem(
            dataset.name,
            "labels.csv",
            None,
            f"{count} images of class {dataset.classes[c]!r}",
            f"at least {least} (shots + query)",
            remedy,
        )
        for c, count in enumerate(counts)
        if count < least
    ]

"""The classification datasets of torchvision."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anyshot_core.data.importing.images import CannotImport, Source, SourceImage


def read_torchvision(name: str, root: Path, *, download: bool = False) -> Source:
    """A dataset of `torchvision.datasets` by the name of its class, all of its splits.

    Raises:
        CannotImport: torchvision is missing, has no such dataset, or does not find it below `root`.
    """
    try:
        from torchvision import datasets
    except ModuleNotFoundError as error:
        raise CannotImport(
            "This needs torchvision, which is not installed: pip install torchvision."
        ) from error
    kind = getattr(datasets, name, None)
    if not inspect.isclass(kind):
        known = ", ".join(known for known in datasets.__all__ if known[0].isupper())
        raise CannotImport(f"torchvision has no dataset {name}. It has: {known}.")
    parts = [_part(kind, name, root, download, split) for split in _splits(kind)]
    classes = _classes(parts[0], name)
    joined = "Its splits were joined: tasks are drawn from all images of a class."
    return Source(
        _images(parts, classes),
        description=f"{name} of torchvision",
        notes=(joined,) if len(parts) > 1 else (),
    )


# Of classes with an argument `split`, which parts make the whole, where these are not `train` and `test`.
_TRAIN_VAL_TEST = ("train", "val", "test")
_PARTS = {
    **dict.fromkeys(
        ("CLEVRClassification", "DTD", "FGVCAircraft", "Flowers102", "RenderedSST2"), _TRAIN_VAL_TEST
    ),
    "Country211": ("train", "valid", "test"),
    "ImageNet": ("train", "val"),
    "Imagenette": ("train", "val"),
    "OxfordIIITPet": ("trainval", "test"),
    "Places365": ("train-standard", "val"),
}


def _splits(kind: type) -> list[dict[str, Any]]:
    """The arguments that give each part of a dataset: by `split` or `train`, as its class has it."""
    wanted = inspect.signature(kind).parameters
    if kind.__name__ == "EMNIST":  # of its kinds the one with as many images in each class
        return [{"split": "balanced", "train": True}, {"split": "balanced", "train": False}]
    if "train" in wanted:
        return [{"train": True}, {"train": False}]
    if "split" in wanted:
        return [{"split": split} for split in _PARTS.get(kind.__name__, ("train", "test"))]
    return [{}]


def _part(kind: type, name: str, root: Path, download: bool, split: dict[str, Any]) -> Any:
    more = {"download": download} if "download" in inspect.signature(kind).parameters else {}
    try:
        return kind(root=str(root), **split, **more)
    except (RuntimeError, OSError, ValueError, TypeError) as error:
        hint = "" if download or not more else " Download it with --download."
        raise CannotImport(f"{name} cannot be read below {root}: {error}{hint}") from error


def _classes(part: Any, name: str) -> list[str]:
    classes = getattr(part, "classes", None)
    if not classes:
        raise CannotImport(f"{name} of torchvision names no classes: it is not made for classification.")
    return [", ".join(known) if isinstance(known, tuple) else str(known) for known in classes]


def _images(parts: list[Any], classes: list[str]) -> Iterator[SourceImage]:
    for number, part in enumerate(parts):
        for row in range(len(part)):
            image, label = part[row]
            yield SourceImage(image, classes[int(label)], f"part {number}, image {row}")

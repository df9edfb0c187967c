"""CIFAR-FS and FC-100 as folders of images, and any other dataset laid out as split/class/image."""

from pathlib import Path

from PIL import Image

from anyshot_analysis.readers.records import BadLayout, Records, require

SPLITS = {
    "train": "train",
    "base": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
    "novel": "test",
}
SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp"}


def read_split_folders(folder: Path) -> Records:
    """`folder/{train,val,test}/CLASS/IMAGE`, or CIFAR-FS's `data/CLASS/IMAGE` with `splits/bertinetto/SPLIT.txt`."""
    if (folder / "splits").is_dir():
        return read_listed(folder)
    found = [
        (p, SPLITS[s.name]) for s in sorted(folder.iterdir()) if s.name in SPLITS for p in images_below(s)
    ]
    if not found:
        raise BadLayout(f"{folder}: no train, val or test folder with a folder of images for each class")
    return records_of([p for p, _ in found], [split for _, split in found])


def read_listed(folder: Path) -> Records:
    """Classes of each split in text files, images in `data/CLASS`."""
    lists = next((d for d in sorted((folder / "splits").iterdir()) if (d / "train.txt").exists()), None)
    if lists is None:
        raise BadLayout(f"{folder / 'splits'}: no folder with train.txt")
    data = require(folder / "data", "the folder of classes")
    paths, splits = [], []
    for split in ("train", "val", "test"):
        for name in require(lists / f"{split}.txt", "the list of classes").read_text().split():
            own = sorted(
                p for p in require(data / name, "a listed class").iterdir() if p.suffix.lower() in SUFFIXES
            )
            paths += own
            splits += [split] * len(own)
    return records_of(paths, splits)


def images_below(split: Path) -> list[Path]:
    """Images of all classes of a split."""
    classes = sorted(d for d in split.iterdir() if d.is_dir())
    return [p for d in classes for p in sorted(d.iterdir()) if p.suffix.lower() in SUFFIXES]


def records_of(paths: list[Path], splits: list[str]) -> Records:
    """Records of image files whose class is their folder."""

    def load(index: int) -> Image.Image:
        with Image.open(paths[index]) as image:
            return image.convert("RGB")

    return Records(tuple(p.parent.name for p in paths), tuple(splits), load)

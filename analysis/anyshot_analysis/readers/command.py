"""`anyshot read-dataset`: the papers' datasets, in their public layouts, as Meta-Album folders."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
from PIL import Image

from anyshot_analysis.readers.femnist import read_femnist
from anyshot_analysis.readers.folders import read_split_folders
from anyshot_analysis.readers.imagenet import PARTS, read_csv_splits, read_tiered
from anyshot_analysis.readers.records import BadLayout, Records, write_meta_album
from anyshot_analysis.readers.zappos import read_zappos

WRITER = "WRITER"  # the column that the protocol `writers` reads


def femnist(folder: Path) -> Records:
    """FEMNIST with the writer of each image: the protocol splits writers, so all are in one dataset."""
    found = read_femnist(folder)
    return replace(found.records, columns={WRITER: found.writers})


def zappos(folder: Path) -> Records:
    """Zappos with its attributes; the class is the category folder, which pairs of attributes do not use."""
    found = read_zappos(folder)

    def load(index: int) -> Image.Image:
        with Image.open(found.files[index]) as image:
            return image.convert("RGB")

    columns = {
        name: tuple(str(int(cell)) for cell in found.table[:, place])
        for place, name in enumerate(found.attributes)
    }
    classes = tuple(file.parent.name for file in found.files)
    return Records(classes, ("all",) * len(classes), load, columns)


READERS: dict[str, tuple[Callable[[Path], Records], tuple[str, ...]]] = {
    "miniimagenet": (read_csv_splits, PARTS),
    "tieredimagenet": (read_tiered, PARTS),
    "cifar-fs": (read_split_folders, PARTS),
    "femnist": (femnist, ("all",)),
    "zappos": (zappos, ("all",)),
}


@click.command("read-dataset")
@click.argument("kind", type=click.Choice(list(READERS)))
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
def read_dataset(kind: str, source: Path, out: Path) -> None:
    """Write the dataset KIND in the folder SOURCE as Meta-Album folders below OUT, which `anyshot data pack` packs.

    miniimagenet: images/ and train.csv, val.csv, test.csv. tieredimagenet: SPLIT_images.npz and SPLIT_labels.npz.
    cifar-fs: train, val, test/CLASS/IMAGE, or data/ and splits/; FC-100 too. These become a dataset for each split.

    femnist: LEAF's JSON files; one dataset with the column WRITER, for the protocol `writers` and the evaluation
    `unseen_writers`. zappos: images and meta-data-bin.csv; one dataset with a column for each attribute, for the
    protocol `attribute_pairs` and the evaluation `unseen_pairs`.
    """
    read, splits = READERS[kind]
    try:
        records = read(source)
        for split in splits:
            name = kind.upper().replace("-", "_") + ("" if split == "all" else f"_{split.upper()}")
            target = write_meta_album(records, split, out / name, name)
            click.echo(f"{target}: {len(records) if split == 'all' else len(records.rows(split)):,} images")
    except (BadLayout, FileExistsError) as error:
        raise click.ClickException(str(error)) from error

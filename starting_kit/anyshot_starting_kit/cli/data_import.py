"""`anyshot data import ...`: datasets of other formats to Meta-Album's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, TextColumn

from anyshot_core.data.importing.folders import read_folder
from anyshot_core.data.importing.hugging_face import read_parquet
from anyshot_core.data.importing.images import CannotImport, Source
from anyshot_core.data.importing.medmnist import KINDS, read_medmnist
from anyshot_core.data.importing.tables import Columns, read_csv, read_super_classes
from anyshot_core.data.importing.writing import About, ImportChoice, ImportedData, write_dataset
from anyshot_starting_kit.cli.data_torchvision import read_torchvision

_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_folder = click.Path(exists=True, file_okay=False, path_type=Path)
_OPTIONS = (
    click.option("--name", required=True, help="Short name of the dataset: letters, digits, _ and -."),
    click.option(
        "--out",
        default="data",
        show_default=True,
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder in which the dataset's folder is created.",
    ),
    click.option("--domain", default="", help="Domain: plants, OCR, ... [what the source says]."),
    click.option("--description", default="", help="One sentence on the images [what the source says]."),
    click.option("--licence", default="", help="Licence, for instance CC BY 4.0 [what the source says]."),
    click.option("--origin", default="", help="Where the data come from: an address or a citation."),
    click.option(
        "--super-classes", default=None, type=_file, help="CSV with two columns: class, super-class."
    ),
    click.option(
        "--least-images",
        default=1,
        show_default=True,
        type=click.IntRange(min=1),
        help="Leave out classes with fewer images.",
    ),
    click.option(
        "--most-images", default=None, type=click.IntRange(min=1), help="Draw so many of each class [all]."
    ),
    click.option("--seed", default=0, show_default=True, help="Seed of that draw and of the order."),
    click.option("--skip-bad", is_flag=True, help="Leave out images that cannot be read, and list them."),
    click.option(
        "--jpeg", is_flag=True, help="Write JPEG of quality 95 instead of PNG, which loses nothing."
    ),
)


def _common(command: Callable[..., None]) -> Callable[..., None]:
    """The options that every source has."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group("import")
def import_() -> None:
    """Convert a dataset of another format into Meta-Album's.

    Each image is turned upright, cut to its central square and resampled to 128 x 128 RGB; grey and transparent
    images are converted. File names and the order of rows tell no class.
    """


@import_.command()
@click.argument("source", type=_folder)
@_common
def folder(source: Path, **options: Any) -> None:
    """A folder with a folder of images for each class, or SUPER_CLASS/CLASS/IMAGE."""
    _carry_out(lambda: read_folder(source), options)


@import_.command("csv")
@click.argument("source", type=_file)
@click.option("--images", default=None, type=_folder, help="Where the paths begin [the folder of the file].")
@click.option("--file-column", default=None, help="Column with the paths [a name such as file, path, image].")
@click.option("--class-column", default=None, help="Column with the classes [category, class, label].")
@click.option("--super-column", default=None, help="Column with super-classes [super_category].")
@_common
def csv_(
    source: Path,
    images: Path | None,
    file_column: str | None,
    class_column: str | None,
    super_column: str | None,
    **options: Any,
) -> None:
    """A CSV file that lists paths of images and their classes."""
    columns = Columns(file_column, class_column, super_column)
    _carry_out(lambda: read_csv(source, columns, images), options)


@import_.command()
@click.argument("source", type=_file)
@click.option(
    "--kind", default=None, type=click.Choice(list(KINDS)), help="Which dataset [by the file's name]."
)
@_common
def medmnist(source: Path, kind: str | None, **options: Any) -> None:
    """A file of MedMNIST such as bloodmnist_128.npz; names of classes and licence are known."""
    _carry_out(lambda: read_medmnist(source, kind), options)


@import_.command("huggingface")
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.option("--image-column", default=None, help="Column with the images [the only one of that type].")
@click.option("--class-column", default=None, help="Column with the classes [the only one of that type].")
@click.option("--super-column", default=None, help="Column with super-classes.")
@_common
def hugging_face(
    source: Path,
    image_column: str | None,
    class_column: str | None,
    super_column: str | None,
    **options: Any,
) -> None:
    """A dataset of the Hugging Face Hub: a Parquet file, a downloaded folder, or one that `save_to_disk` wrote."""

    def read() -> Source:
        return read_parquet(source, image=image_column, label=class_column, super_label=super_column)

    _carry_out(read, options)


@import_.command()
@click.argument("dataset")
@click.option(
    "--root",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that torchvision calls root.",
)
@click.option("--download", is_flag=True, help="Let torchvision download it into that folder.")
@_common
def torchvision(dataset: str, root: Path, download: bool, **options: Any) -> None:
    """A dataset of torchvision by the name of its class: EuroSAT, DTD, ..."""
    _carry_out(lambda: read_torchvision(dataset, root, download=download), options)


def _carry_out(read: Callable[[], Source], options: dict[str, Any]) -> None:
    about = About(
        options["name"], options["domain"], options["description"], options["licence"], options["origin"]
    )
    try:
        names = options["super_classes"]
        choice = ImportChoice(
            least=options["least_images"],
            most=options["most_images"],
            seed=options["seed"],
            skip_bad=options["skip_bad"],
            lossless=not options["jpeg"],
            super_classes=read_super_classes(names) if names else {},
        )
        with Progress(TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("Reading")
            made = write_dataset(
                read(), options["out"], about, choice, lambda n: bar.update(task, description=f"{n} images")
            )
    except CannotImport as error:
        raise click.ClickException(str(error)) from error
    _tell(made)


def _tell(made: ImportedData) -> None:
    above = f", {made.super_classes} super-classes" if made.super_classes else ""
    click.echo(f"{made.folder}: {made.images} images, {made.classes} classes{above}")
    for note in made.notes:
        click.echo(f"  {note}")
    for name, count in sorted(made.small.items()):
        click.echo(f"  left out the class {name}: {count} images")
    for name, reason in made.bad:
        click.echo(f"  left out {name}: {reason}")
    if not made.licence:
        click.echo("  The source names no licence. Give it with --licence: the Data tab shows it.", err=True)
    click.echo(f"Pack it with: anyshot data pack {made.folder}")

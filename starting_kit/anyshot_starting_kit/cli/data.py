"""`anyshot data ...`."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from anyshot_core.data.block_workers import BlockWorkers
from anyshot_core.data.dataset import check_dataset, read_dataset
from anyshot_core.data.domains import meta_album_set
from anyshot_core.data.download import DownloadError
from anyshot_core.data.openml import VERSIONS, download_dataset
from anyshot_core.data.pack import Pack
from anyshot_core.data.picture import contact_sheet, task_picture
from anyshot_core.data.pool import Pool
from anyshot_core.data.problems import BadDataset, DataError, PackProblem, errors
from anyshot_core.data.series import pack_series
from anyshot_core.protocols import protocol_from_dict
from anyshot_starting_kit.cli.data_get import get
from anyshot_starting_kit.cli.data_import import import_
from anyshot_starting_kit.cli.exits import Exit

_existing = click.Path(exists=True, path_type=Path)


@click.group()
def data() -> None:
    """Look at datasets, check and pack them, import other formats, and download the public Meta-Album ones."""


data.add_command(import_)
data.add_command(get)


@data.command()
@click.argument("folders", nargs=-1, required=True, type=_existing)
@click.option(
    "--out", default="packs", type=click.Path(file_okay=False, path_type=Path), help="Folder for the packs."
)
@click.option("--skip-bad", is_flag=True, help="Leave out what cannot be used, and list it.")
@click.option("--convert", is_flag=True, help="Accept grey, transparent and 16-bit images.")
@click.option("--domain", default=None, help="Domain of the datasets, where info.json does not name it.")
@click.option("--workers", default=None, type=click.IntRange(min=1), help="Processes; by default one a core.")
def pack(
    folders: tuple[Path, ...],
    out: Path,
    skip_bad: bool,
    convert: bool,
    domain: str | None,
    workers: int | None,
) -> None:
    """Pack datasets in Meta-Album's format: FOLDERS are datasets, or folders of datasets.

    Each becomes one file NAME.anyshot-pack. Packs that are up to date are left alone; an interrupted call
    continues. Exits with 1 if a dataset was refused; the others are packed all the same.
    """
    refused = False
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress, BlockWorkers(workers) as running:
        bars = {folder: progress.add_task(folder.name, total=None) for folder in _datasets(folders)}
        for folder, packed in pack_series(
            list(bars),
            out,
            running,
            skip_bad=skip_bad,
            domain=domain,
            convert=convert,
            on_progress=lambda folder, done, total: progress.update(
                bars[folder], completed=done, total=total
            ),
        ):
            try:
                path = packed.result()
            except BadDataset as error:
                refused = True
                progress.update(bars[folder], description=f"{folder.name} refused")
                progress.stop_task(bars[folder])
                _print_problems(error.problems)
                continue
            _print_packed(Pack.open(path, verify=False))
    sys.exit(Exit.FAILED if refused else Exit.OK)


@data.command()
@click.argument("paths", nargs=-1, required=True, type=_existing)
@click.option("--images/--no-images", default=True, help="Whether to decode every image.")
@click.option(
    "--least-images", default=0, help="Images that each class needs: shots and query images together."
)
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
def check(paths: tuple[Path, ...], images: bool, least_images: int, as_json: bool) -> None:
    """Check datasets and packs: PATHS are dataset folders, folders of datasets, or packs.

    Says what is wrong, where, and what to do. Exits with 1 if something is.
    """
    problems: list[PackProblem] = []
    for path in _datasets(paths):
        found = (
            _check_pack(path)
            if path.is_file()
            else check_dataset(path, images=images, least_images=least_images)
        )
        problems += found
        if not as_json:
            click.echo(f"{path.name}: {'ok' if not found else _count(found)}")
            _print_problems(found)
    if as_json:
        click.echo(json.dumps([problem.to_dict() for problem in problems], indent=1))
    sys.exit(Exit.FAILED if errors(problems) else Exit.OK)


@data.command()
@click.argument("path", type=_existing)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def info(path: Path, as_json: bool) -> None:
    """Show what a pack or a dataset folder holds."""
    facts = _pack_facts(Pack.open(path)) if path.is_file() else _folder_facts(path)
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    width = max(map(len, facts))
    for key, value in facts.items():
        click.echo(f"{key:<{width}}  {value}")


@data.command()
@click.argument("packs", nargs=-1, required=True, type=_existing)
@click.option(
    "--out", default="picture.png", type=click.Path(dir_okay=False, path_type=Path), help="PNG to write."
)
@click.option(
    "--task", "index", default=None, type=click.IntRange(min=0), help="Draw this task, not a contact sheet."
)
@click.option("--seed", default=93, help="Seed of the tasks.")
@click.option("--protocol", default="any_way_any_shot", help="Name of the protocol, or its settings as JSON.")
@click.option("--classes", default=20, type=click.IntRange(min=1), help="Classes on a contact sheet.")
def show(
    packs: tuple[Path, ...], out: Path, index: int | None, seed: int, protocol: str, classes: int
) -> None:
    """Draw a contact sheet of a pack, or a task of a pool of PACKS, as a PNG."""
    pool = Pool.open(packs)
    if index is None:
        picture = contact_sheet(pool[0], classes)
    else:
        settings = json.loads(protocol) if protocol.startswith("{") else {"name": protocol}
        task = protocol_from_dict(settings).task(pool, seed, index)
        picture = task_picture(pool[task.dataset], task)
    picture.save(out)
    click.echo(f"{out}: {picture.width} x {picture.height}")


_META_ALBUM_SETS = {f"set-{number}": meta_album_set(number) for number in range(3)}


@data.command()
@click.argument("datasets", nargs=-1, required=True)
@click.option("--version", default="Mini", type=click.Choice(VERSIONS), help="Which version of Meta-Album.")
@click.option(
    "--out", default="data", type=click.Path(file_okay=False, path_type=Path), help="Folder for the datasets."
)
@click.option("--api", default=None, hidden=True, help="Another address of OpenML's API.")
def download(datasets: tuple[str, ...], version: str, out: Path, api: str | None) -> None:
    """Download public Meta-Album DATASETS from OpenML by identifier (BRD, PLK, ...) or OpenML's number.

    set-0, set-1 and set-2 are the ten datasets of these sets each, one of each domain, as the competition of 2022 has
    them. Broken-off downloads continue; every file is verified. Exits with 3 when there is no network.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        for dataset in (
            identifier for name in datasets for identifier in _META_ALBUM_SETS.get(name, (name,))
        ):
            bar = progress.add_task(dataset, total=None)

            def advance(done: int, total: int, bar: object = bar) -> None:
                progress.update(bar, completed=done, total=total)  # pyright: ignore[reportArgumentType]

            options = {"api": api} if api else {}
            try:
                folder = download_dataset(dataset, out, version=version, on_progress=advance, **options)
            except DownloadError as error:
                progress.stop()
                click.echo(f"{dataset}: {error}", err=True)
                sys.exit(Exit.UNAVAILABLE)
            click.echo(f"{dataset}: {folder}. Pack it with: anyshot data pack {folder}")


def _datasets(paths: tuple[Path, ...]) -> Iterator[Path]:
    """Dataset folders and packs as they are; of a folder of datasets or packs, each."""
    for path in paths:
        inside = [] if path.is_file() or (path / "labels.csv").exists() else _inside(path)
        yield from inside or [path]


def _inside(folder: Path) -> list[Path]:
    return sorted(
        child
        for child in folder.iterdir()
        if (child / "labels.csv").exists()
        or (child.name.endswith(".anyshot-pack") and not child.name.startswith("."))
    )


def _check_pack(path: Path) -> list[PackProblem]:
    try:
        Pack.open(path)
    except DataError as error:
        return [PackProblem(path.stem, path.name, None, "a bad pack", "a whole pack", str(error))]
    return []


def _print_problems(problems: list[PackProblem] | tuple[PackProblem, ...]) -> None:
    for problem in problems:
        click.echo(f"  {problem.severity}: {problem}", err=True)


def _print_packed(pack: Pack) -> None:
    left_out = pack.meta.left_out
    note = f", {len(left_out)} left out" if left_out else ""
    click.echo(f"{pack.path}: {len(pack)} images, {len(pack.classes)} classes{note}")
    for item in left_out:
        click.echo(f"  left out {item.file}: {item.reason}")


def _pack_facts(pack: Pack) -> dict[str, object]:
    sizes = [len(rows) for rows in pack.class_rows]
    return {
        "name": pack.name,
        "domain": pack.domain or "(none)",
        "description": pack.meta.description,
        "licence": pack.meta.licence or "(not given)",
        "source": pack.meta.source or "(not given)",
        "images": len(pack),
        "classes": len(pack.classes),
        "super-classes": len(set(pack.super_classes) - {""}),
        "images a class": f"{min(sizes)} to {max(sizes)}",
        "annotations": ", ".join(pack.annotations) or "(none)",
        "left out": len(pack.meta.left_out),
        "size in bytes": pack.path.stat().st_size,
        "content digest": pack.content_digest,
        "sha256": pack.digest,
    }


def _folder_facts(folder: Path) -> dict[str, object]:
    dataset = read_dataset(folder)
    sizes = Counter(dataset.labels.tolist()).values()
    return {
        "name": dataset.name,
        "domain": dataset.info.domain or "(none)",
        "description": dataset.info.dataset_description,
        "images": len(dataset.files),
        "classes": len(dataset.classes),
        "super-classes": len(set(dataset.super_classes) - {""}),
        "images a class": f"{min(sizes)} to {max(sizes)}",
    }


def _count(problems: list[PackProblem]) -> str:
    return "1 finding" if len(problems) == 1 else f"{len(problems)} findings"

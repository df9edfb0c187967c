"""`anyshot pack`."""

import sys
from pathlib import Path

import click

from anyshot_core.bundle import check_bundle
from anyshot_core.bundle.pack import pack_folder
from anyshot_core.words import count_of
from anyshot_starting_kit.cli.check import describe
from anyshot_starting_kit.cli.exits import Exit


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Zip to write [FOLDER.zip]."
)
def pack(folder: Path, output: Path | None) -> None:
    """Zip FOLDER, leaving out caches and anyshot-dry-run, and check the zip.

    Exits with 1 when the platform would refuse it.
    """
    target = output or folder.resolve().with_name(f"{folder.resolve().name}.zip")
    names = pack_folder(folder, target)
    report = check_bundle(target)
    click.echo(describe(report))
    click.echo(f"{target}: {count_of(len(names), 'file')}, {target.stat().st_size:,} bytes")
    sys.exit(Exit.OK if report.ok else Exit.FAILED)

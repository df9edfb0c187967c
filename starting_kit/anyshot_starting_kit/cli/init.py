"""`anyshot init`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def init(folder: Path) -> None:
    """Make FOLDER with a submission that runs and scores above chance, explained line by line."""
    if folder.exists() and any(folder.iterdir()):
        raise click.UsageError(f"{folder} exists and is not empty.")
    folder.mkdir(parents=True, exist_ok=True)
    template = files("anyshot_starting_kit") / "templates" / "method"
    for item in sorted(template.iterdir(), key=lambda item: item.name):
        if item.is_file():
            (folder / item.name).write_bytes(item.read_bytes())
            click.echo(f"  {folder / item.name}")
    click.echo(f"\nNext:\n  anyshot dry-run {folder} --quick    does it run? (about a minute)")
    click.echo(f"  anyshot dry-run {folder}            what does it score?")
    click.echo(f"  anyshot submit {folder}             take part")

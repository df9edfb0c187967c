"""Files that commands write: nothing is overwritten, and what holds secrets says so."""

from __future__ import annotations

from pathlib import Path

import click


def must_be_new(file: Path) -> None:
    """Raises `ClickException` where the file is there."""
    if file.exists():
        raise click.ClickException(f"{file} is there already: nothing is overwritten.")


def say_written(file: Path, *, secret: bool) -> None:
    """The file's name and size, and whether it holds keys of hidden tasks."""
    keys = " It holds the keys of the hidden tasks: keep it secret." if secret else ""
    click.echo(f"Wrote {file} ({file.stat().st_size:,} bytes).{keys}")

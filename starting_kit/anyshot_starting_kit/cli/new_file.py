"""Files that commands write: under plain names, nothing is overwritten, and what holds secrets says so."""

from pathlib import Path

import click

from anyshot_core.names import NAME_WORDS, is_name


def must_be_new(file: Path) -> None:
    """Raises `ClickException` where the file is there."""
    if file.exists():
        raise click.ClickException(f"{file} is there already: nothing is overwritten.")


def named(name: str) -> str:
    """A name that a site gave to a file or a dataset; raises `ClickException` where it cannot be one."""
    if not is_name(name):
        raise click.ClickException(
            f"The site names a file {name!r}. Names have {NAME_WORDS}: nothing is written."
        )
    return name


def say_written(file: Path, *, secret: bool) -> None:
    """The file's name and size, and whether it holds keys of hidden tasks."""
    keys = " It holds the keys of the hidden tasks: keep it secret." if secret else ""
    click.echo(f"Wrote {file} ({file.stat().st_size:,} bytes).{keys}")

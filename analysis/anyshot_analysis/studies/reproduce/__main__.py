"""`python -m anyshot_analysis.studies.reproduce NAME --out FOLDER [--data META_ALBUM_FOLDER]`."""

from __future__ import annotations

import importlib
import json
import os
import time
from importlib.metadata import version
from pathlib import Path

import click

from anyshot_analysis.pages import Manifest, write_report
from anyshot_analysis.studies.reproduce.material import Material
from anyshot_analysis.studies.reproduce.sources import code_of
from anyshot_starting_kit.dryrun.publicdata import default_cache

NAMES = (
    "hellinger",
    "svcca",
    "gaussians",
    "initialization",
    "task2vec",
    "task-level",
    "flips",
    "base-flips",
    "selection",
    "control",
    "shift",
    "fixml",
    "trade-off",
)


@click.command()
@click.argument("name", type=click.Choice(NAMES))
@click.option("--out", type=click.Path(path_type=Path), default=Path("reproductions"), show_default=True)
@click.option(
    "--data", envvar="ANYSHOT_DATA", type=click.Path(exists=True, path_type=Path), help="Meta-Album folder."
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    help="Keeps packs, features and the trained backbone [~/.cache/anyshot/reproductions].",
)
def main(name: str, out: Path, data: Path | None, cache: Path | None) -> None:
    """Run one reproduction and write its numbers, figures and rows."""
    module = importlib.import_module(f"anyshot_analysis.studies.reproduce.{name.replace('-', '_')}")
    start, manifest = time.process_time(), manifest_of(name)  # of the code that is loaded now
    folder = cache or default_cache() / "reproductions"
    summary = write_report(module.make(Material(data, folder)), out / name, manifest)
    click.echo(summary["finding"])
    click.echo(
        json.dumps({"name": name, "cpu_seconds": round(time.process_time() - start), "cores": os.cpu_count()})
    )


def manifest_of(name: str) -> Manifest:
    """The code that computed a reproduction; its settings are constants there, its data are named in its notes."""
    versions = {package: version(package) for package in ("anyshot-analysis", "numpy", "scipy", "torch")}
    return Manifest({"name": name}, {}, versions, code_of(name))


if __name__ == "__main__":
    main()

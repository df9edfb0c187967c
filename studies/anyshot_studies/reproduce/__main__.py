"""`python -m anyshot_studies.reproduce NAME --out FOLDER [--data META_ALBUM_FOLDER]`."""

import importlib
import json
import os
import time
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import torch
from threadpoolctl import threadpool_limits

from anyshot_analysis.pages import Manifest, write_report
from anyshot_core.report.published_values import CONDITIONS
from anyshot_starting_kit.dryrun.publicdata import default_cache
from anyshot_studies.reproduce.conditions import conditions_of
from anyshot_studies.reproduce.material import Material
from anyshot_studies.reproduce.sources import code_of

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
    "in-distribution",
)
ONE_SIZE = "The study {} has one size, which its report states: leave --full."


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
@click.option("--full", is_flag=True, help="At the paper's size, where the study has one.")
def main(name: str, out: Path, data: Path | None, cache: Path | None, full: bool) -> None:
    """Run one reproduction and write its numbers, figures and rows."""
    module = module_of(name)
    if full and not has_full(name):
        raise click.UsageError(ONE_SIZE.format(name))
    start, manifest = time.process_time(), manifest_of(name, full)  # of the code that is loaded now
    material = Material(data, cache or default_cache() / "reproductions")
    # Each thread adds a part of a long sum: with others, last digits differ, and grow while a network is trained.
    with nullcontext() if full else threadpool_limits(limits=1):
        manifest = replace(manifest, machine=this_machine())
        report = module.make(material, module.FULL) if full else module.make(material)
    conditions = conditions_of(name, report.result)
    report = replace(report, result={**report.result, CONDITIONS: conditions})
    summary = write_report(report, out / name, manifest)
    click.echo(summary["finding"])
    click.echo(
        json.dumps({"name": name, "cpu_seconds": round(time.process_time() - start), "cores": os.cpu_count()})
    )


def module_of(name: str) -> Any:
    """The module of a study: `make`, and `FULL` where it can run at the paper's size."""
    return importlib.import_module(f"anyshot_studies.reproduce.{name.replace('-', '_')}")


def has_full(name: str) -> bool:
    """Whether a study can run at the paper's size."""
    return hasattr(module_of(name), "FULL")


def manifest_of(name: str, full: bool = False) -> Manifest:
    """The code that computed a reproduction; its settings are constants there, its data are named in its notes."""
    versions = {package: version(package) for package in ("anyshot-analysis", "numpy", "scipy", "torch")}
    return Manifest({"name": name} | ({"full": True} if full else {}), {}, versions, code_of(name))


def this_machine() -> dict[str, str | int]:
    """What must be the same beside code and versions for the same numbers to come again: wide instructions add more at
    a time."""
    return {"instructions": torch.backends.cpu.get_cpu_capability(), "threads": torch.get_num_threads()}


if __name__ == "__main__":
    main()

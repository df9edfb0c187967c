"""`anyshot weights`: pretrained weights that runs here, or a site's, may use."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from anyshot_core.client import Client, Refused, Unreachable
from anyshot_core.weights import (
    FOLDER,
    BadWeights,
    WeightsFile,
    add_weights,
    default_folder,
    find_weights_file,
    list_weights,
    problem_of,
)

FOLDER_OPTION = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    envvar=FOLDER,
    help="Folder of the weights [of this user]; a site's is what its operator names.",
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")


@click.group()
def weights() -> None:
    """Pretrained weights that dry runs here find, and a site offers to its runs: by name, with digest and licence."""


@weights.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--licence", required=True, metavar="TEXT", help="Under which it may be used, such as BSD-3-Clause."
)
@click.option("--source", default="", metavar="TEXT", help="Where it comes from: an address, a model's name.")
@click.option("--name", default="", metavar="NAME", help="What runs call it [the file's own name].")
@FOLDER_OPTION
def add(file: Path, licence: str, source: str, name: str, folder: Path | None) -> None:
    """Offer FILE, a state dict (.pt, .pth, .safetensors), to runs."""
    folder = folder or default_folder()
    try:
        added = add_weights(folder, file, licence, source, name)
    except BadWeights as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{added.name} is offered from {folder}: sha256 {added.digest}")


@weights.command("list")
@FOLDER_OPTION
@click.option("--site", metavar="ADDRESS", help="Those that a site offers, instead.")
@JSON_OPTION
def list_command(folder: Path | None, site: str | None, as_json: bool) -> None:
    """List the weights on offer."""
    try:
        found = _of_site(site) if site else list_weights(folder or default_folder())
    except BadWeights as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=1))
        return
    for one in found:
        click.echo(
            f"{one.name}  {one.size / 2**20:.1f} MiB  {one.licence or 'licence not recorded'}  {one.digest[:16]}"
        )
    if not found:
        click.echo("There are none. `anyshot weights add FILE --licence TEXT` offers a file.")


@weights.command()
@click.argument("name")
@FOLDER_OPTION
@JSON_OPTION
def show(name: str, folder: Path | None, as_json: bool) -> None:
    """Show one, and compare its bytes with what was added. Exits with 1 where they are others."""
    folder = folder or default_folder()
    try:
        found = find_weights_file(folder, name)
    except BadWeights as error:
        raise click.ClickException(str(error)) from error
    problem = problem_of(folder, found)
    rows: dict[str, Any] = asdict(found) | {"problem": problem}
    click.echo(
        json.dumps(rows, indent=1)
        if as_json
        else "\n".join(f"{term}: {value}" for term, value in rows.items() if value != "")
    )
    if problem:
        raise click.exceptions.Exit(1)


def _of_site(site: str) -> list[WeightsFile]:
    try:
        rows = Client(site).weights()
    except (Refused, Unreachable) as error:
        raise click.ClickException(str(error)) from error
    return [WeightsFile(**row) for row in rows]

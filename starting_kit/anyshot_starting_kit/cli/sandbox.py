"""`anyshot sandbox`: what submissions can import where they run."""

import json

import click

from anyshot_core.client import Client, Refused, Unreachable
from anyshot_core.wire.inventory import Inventory, shipped_inventory


@click.command()
@click.option(
    "--site", metavar="ADDRESS", help="The images that a site's workers have, instead of this release's."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def sandbox(site: str | None, as_json: bool) -> None:
    """List the packages in the sandbox, with versions, sizes and the names that `import` takes."""
    release = {"image": "", "hardware_class": "", "inventory": shipped_inventory().model_dump()}
    try:
        found = Client(site).sandboxes() if site else [release]
    except (Refused, Unreachable) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for one in found:
        inventory = Inventory.model_validate(one["inventory"])
        name = (
            f"Image {one['image']} of {one['hardware_class']} workers"
            if one["image"]
            else "This release's image"
        )
        click.echo(f"{name}: Python {inventory.python}, {inventory.compiler or 'no compiler'}")
        for package in inventory.packages:
            size = f"{package.size / 2**20:.1f} MiB"
            click.echo(f"  {package.name} {package.version}  {size}  import {', '.join(package.imports)}")

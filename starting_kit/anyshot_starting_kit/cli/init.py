"""`anyshot init`."""

import json
import tempfile
import zipfile
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.new_file import named

_METHOD = 'Path("my-method")'  # in the notebook: the folder that it works with


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--notebook",
    is_flag=True,
    help="Also write FOLDER.ipynb beside it: from the data to a dry run, cell by cell.",
)
@click.option(
    "--from", "baseline", metavar="BASELINE", help="Start with a baseline of a site's release instead."
)
@click.option(
    "--settings", metavar="NAME", default="", help="With --from: its settings, such as quick or paper."
)
@click.option("--server", envvar="ANYSHOT_SERVER", help="With --from: address of the site [as logged in].")
def init(folder: Path, notebook: bool, baseline: str | None, settings: str, server: str | None) -> None:
    """Create FOLDER with a submission that runs and scores above chance, explained line by line."""
    if settings and not baseline:
        raise click.UsageError("--settings are those of a baseline: name it with --from.")
    beside = folder.with_name(f"{folder.name}.ipynb")
    if folder.exists() and any(folder.iterdir()):
        raise click.UsageError(f"{folder} exists and is not empty.")
    if notebook and beside.exists():
        raise click.UsageError(f"{beside} exists; move it, or choose another name.")
    templates = files("anyshot_starting_kit") / "templates"
    if baseline:
        contents = _fetch(server=server, token=None, baseline=baseline, settings=settings)
    else:
        method = sorted((templates / "method").iterdir(), key=lambda item: item.name)
        contents = {item.name: item.read_bytes() for item in method if item.is_file()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        click.echo(f"  {folder / name}")
    if notebook:
        beside.write_text(_notebook((templates / "tutorial.ipynb").read_text(encoding="utf-8"), folder.name))
        click.echo(f"  {beside}")
    click.echo("\nNext:")
    steps = (
        ("data get COMPETITION", "the competition's public data; without --data, pictures are made"),
        (f"dry-run {folder} --data data/COMPETITION --quick", "does it run? (about a minute)"),
        (f"dry-run {folder} --data data/COMPETITION", "what does it score?"),
        (f"submit {folder} --to COMPETITION/PHASE --smoke --follow", "does it run there? (no quota)"),
        (f"submit {folder} --to COMPETITION/PHASE --follow", "take part"),
    )
    width = max(len(words) for words, _ in steps)
    for words, meaning in steps:
        click.echo(f"  anyshot {words:<{width}}  {meaning}")


@connection_options
def _fetch(client: Client, baseline: str, settings: str) -> dict[str, bytes]:
    """The files of a baseline that ships with the site's release, by name."""
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "baseline.zip"
        client.fetch(f"/baselines/{quote(baseline)}/zip?settings={quote(settings)}", target)
        with zipfile.ZipFile(target) as archive:
            return {named(Path(name).name): archive.read(name) for name in archive.namelist()}


def _notebook(text: str, name: str) -> str:
    """The notebook for a folder of that name, beside which it lies."""
    made = json.loads(text)
    for cell in made["cells"]:
        cell["source"] = [line.replace(_METHOD, f"Path({name!r})") for line in cell["source"]]
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"

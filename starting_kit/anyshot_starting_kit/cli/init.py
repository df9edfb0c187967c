"""`anyshot init`."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import click

_METHOD = 'Path("my-method")'  # in the notebook: the folder that it works with


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--notebook", is_flag=True, help="Also FOLDER.ipynb beside it: from the data to a dry run, cell by cell."
)
def init(folder: Path, notebook: bool) -> None:
    """Create FOLDER with a submission that runs and scores above chance, explained line by line."""
    beside = folder.with_name(f"{folder.name}.ipynb")
    if folder.exists() and any(folder.iterdir()):
        raise click.UsageError(f"{folder} exists and is not empty.")
    if notebook and beside.exists():
        raise click.UsageError(f"{beside} exists; move it, or choose another name.")
    folder.mkdir(parents=True, exist_ok=True)
    templates = files("anyshot_starting_kit") / "templates"
    for item in sorted((templates / "method").iterdir(), key=lambda item: item.name):
        if item.is_file():
            (folder / item.name).write_bytes(item.read_bytes())
            click.echo(f"  {folder / item.name}")
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


def _notebook(text: str, name: str) -> str:
    """The notebook for a folder of that name, beside which it lies."""
    made = json.loads(text)
    for cell in made["cells"]:
        cell["source"] = [line.replace(_METHOD, f"Path({name!r})") for line in cell["source"]]
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"

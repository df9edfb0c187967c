"""`anyshot reproduce`: the tables and figures of the papers, each by one command."""

import json
import os
import shlex
from dataclasses import asdict
from pathlib import Path

import click

from anyshot_studies.reproduce.papers import NoReproduction, as_lines, find_item, read_items


@click.command()
@click.argument("paper", required=False)
@click.argument("item", required=False)
@click.option("--full", is_flag=True, help="At the paper's size, days on a GPU [minutes on two cores].")
@click.option(
    "--data", envvar="ANYSHOT_DATA", type=click.Path(exists=True, path_type=Path), help="Meta-Album folder."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("anyshot-reproduced"),
    show_default=True,
    help="Folder for reports.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the table of all as JSON.")
@click.option("--show", is_flag=True, help="Print the commands, and run nothing.")
def reproduce(
    paper: str | None,
    item: str | None,
    full: bool,
    data: Path | None,
    output: Path,
    as_json: bool,
    show: bool,
) -> None:
    """Reproduce ITEM of PAPER, such as metadl-2022 "figure 1"; without them list all, and which can be.

    Reports set what is found beside what was published where the paper has a number for it.
    """
    if paper is None:
        rows = [asdict(one) | {"command": one.how} for one in read_items().values()]
        click.echo(json.dumps(rows, indent=1) if as_json else "\n".join(as_lines()))
        return
    if item is None:
        raise click.UsageError(
            'Name a table or figure too, such as "figure 1"; without both they are listed.'
        )
    try:
        found = find_item(paper, item.lower())
        out = output / paper / found.item.replace(" ", "-")
        by_study = found.study and not (full and found.full)
        steps = _study(found.study, out, full) if by_study else found.steps(out, full=full)
    except NoReproduction as error:
        raise click.UsageError(str(error)) from error
    if data is not None:
        os.environ["ANYSHOT_DATA"] = str(data)
    if found.why:
        click.echo(f"{found.state}: {found.why}.")
    for step in steps:
        click.echo(f"$ {shlex.join(step)}")
        if not show:
            _run(step)


def _study(name: str, out: Path, full: bool) -> list[list[str]]:
    from anyshot_studies.reproduce.__main__ import ONE_SIZE, has_full

    if full and not has_full(name):
        raise NoReproduction(ONE_SIZE.format(name))
    size = ["--full"] if full else []
    return [["python", "-m", "anyshot_studies.reproduce", name, "--out", str(out), *size]]


def _run(step: list[str]) -> None:
    """One command, in this process; a failed one ends all."""
    if step[0] == "python":
        from anyshot_studies.reproduce.__main__ import main as command

        command.main(step[3:], prog_name="anyshot reproduce", standalone_mode=False)
        return
    from anyshot_studies.experiment.command import experiment

    experiment.main(step[2:], prog_name="anyshot experiment", standalone_mode=False)

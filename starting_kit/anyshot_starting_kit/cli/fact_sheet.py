"""`anyshot fact-sheet`: what one's team says of its method."""

import json
from pathlib import Path

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options


@click.command("fact-sheet")
@click.argument("competition")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--hand-in", is_flag=True, help="Hand it in; without it FILE is kept as a draft.")
@click.option(
    "--public/--no-public",
    default=None,
    help="Agree to show it beside the results, or withdraw that [unchanged].",
)
@connection_options
def fact_sheet(
    client: Client, competition: str, file: Path | None, hand_in: bool, public: bool | None
) -> None:
    """Print your team's fact sheet as JSON, or save the answers of FILE, a JSON object of key and answer."""
    if file is None and hand_in:
        raise click.UsageError("Give the FILE with the answers to submit.")
    if file is None:
        found = client.fact_sheet(competition)
        for question in found["questions"]:
            click.echo(
                f"{question['key']}{' *' if question['required'] else ''}: {question['label']}", err=True
            )
        click.echo(json.dumps(found["answers"], indent=1, ensure_ascii=False))
    else:
        answers = json.loads(file.read_text(encoding="utf-8"))
        found = client.save_fact_sheet(competition, answers, hand_in=hand_in, public=public)
    by = f", by {found['wanted_by']}" if found["wanted_by"] else ""
    click.echo(
        f"{found['team']}: {found['state'].replace('_', ' ')}; wanted from {found['wanted_from']}{by}.",
        err=True,
    )

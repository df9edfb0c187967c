"""`anyshot winners`: the published results of a final phase."""

import json
from pathlib import Path
from typing import Any

import click

from anyshot_core.client import Client
from anyshot_core.words import decimal_words, moment_words
from anyshot_starting_kit.cli.account import connection_options


@click.command()
@click.argument("target", metavar="COMPETITION/PHASE")
@click.option("--league", default="", help="Only this league; needed for a file.")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Write the league's table as CSV.")
@click.option("--latex", type=click.Path(path_type=Path), help="Write the league's table as LaTeX.")
@click.option(
    "--certificate",
    type=click.Path(path_type=Path),
    help="Write your team's certificate in the league, a PDF.",
)
@click.option("--team", default="", help="With --certificate, for organizers: id of the team.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@connection_options
def winners(
    client: Client,
    target: str,
    league: str,
    csv_file: Path | None,
    latex: Path | None,
    certificate: Path | None,
    team: str,
    as_json: bool,
) -> None:
    """Show the results of a final phase: ranks, scores, prizes and their split; write tables and certificates."""
    competition, slash, phase = target.partition("/")
    if not slash or (not league and (csv_file or latex or certificate)):
        raise click.UsageError("Give COMPETITION/PHASE, and --league for a file.")
    base = f"/competitions/{competition}/phases/{phase}/results"
    wanted = (
        (csv_file, f"{base}/{league}/table?form=csv"),
        (latex, f"{base}/{league}/table?form=latex"),
        (certificate, f"{base}/{league}/certificate" + (f"?team={team}" if team else "")),
    )
    for file, path in wanted:
        if file is not None:
            client.fetch(path, file)
            click.echo(f"{file} is written.", err=as_json)
    found = client.ask("GET", base)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    if found["preliminary"]:
        click.echo("Not published: only organizers see these results.")
    for change in found["corrections"]:
        click.echo(f"Changed on {moment_words(change['at'])}, because: {change['reason']}")
    for one in found["leagues"]:
        if league in ("", one["league"]):
            _show(one)


def _show(league: dict[str, Any]) -> None:
    click.echo(f"{league['name']} ({league['league']})")
    for row in league["rows"]:
        rank = "-" if row["rank"] is None else row["rank"]
        prize = f"  {row['prize']:,.2f} {league['currency']}" if row["prize"] else ""
        interval = "" if row["half_width"] is None else f" ± {row['half_width']:.3f}"
        mark = " (baseline)" if row["is_baseline"] else ""
        click.echo(f"  {rank!s:>4}  {row['team']}{mark}  {decimal_words(row['score'])}{interval}{prize}")
        for share in row["shares"]:
            click.echo(f"          {share['name']}: {share['amount']:,.2f} {league['currency']}")

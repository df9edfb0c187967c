"""`anyshot my-data`: all that a site holds about one's account."""

import json
from pathlib import Path

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options


@click.command("my-data")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write [print it].",
)
@connection_options
def my_data(client: Client, output: Path | None) -> None:
    """Download all that the site holds about your account, as JSON.

    Profile, memberships, submissions, posts, messages, tokens (not their secrets), browsers and what you did. The zip
    and the log of a submission: `anyshot results --zip`.
    """
    text = json.dumps(client.my_data(), indent=1, ensure_ascii=False)
    if output is None:
        click.echo(text)
        return
    output.write_text(text + "\n", encoding="utf-8")
    click.echo(f"Written: {output}")

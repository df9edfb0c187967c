"""`anyshot code`: the code of a submission, and what changed since the zip before."""

from typing import Any

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options, which_submission


@click.command()
@click.argument("submission", required=False)
@click.argument("file", required=False)
@click.option(
    "--changes", is_flag=True, help="What is different from the zip that your team submitted before."
)
@click.option(
    "--since", type=click.IntRange(1), help="With --changes: from that of the submission of this number."
)
@connection_options
def code(client: Client, submission: str | None, file: str | None, changes: bool, since: int | None) -> None:
    """List the files of SUBMISSION's zip (its number or id; without it your latest), or print FILE."""
    submission_id = which_submission(client, submission)
    if changes or since:
        _print_changes(client.code_changes(submission_id, since))
        return
    found = client.code(submission_id, file or "")
    if file is None:
        for one in found["files"]:
            click.echo(f"{one['size']:>12,}  {one['path']}")
    elif found["shown"] != file:
        raise click.UsageError(f"There is no {file} in this zip. Leave FILE out to see what there is.")
    elif found["text"] is None:
        raise click.UsageError(f"{file} is no text, or too long to be shown: download the zip.")
    else:
        click.echo(found["text"], nl=not found["text"].endswith("\n"))


def _print_changes(found: dict[str, Any]) -> None:
    if found["since"] is None:
        click.echo("Your team has submitted no other zip before this one.")
        return
    click.echo(f"Since submission {found['since']}:" + ("" if found["files"] else " nothing has changed."))
    for file in found["files"]:
        click.echo(f"\n{file['what']}: {file['path']}")
        for part in file["parts"] or []:
            click.echo(f"@@ line {next((line['new'] or line['old'] for line in part), 1)} @@")
            for line in part:
                click.echo(f"{line['sign']}{line['text']}")

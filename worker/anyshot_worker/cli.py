"""`anyshot worker ...`: what an operator of a worker types."""

import logging

import click
from pydantic import ValidationError

from anyshot_worker.commands_join import join
from anyshot_worker.commands_sandbox import COMMANDS


@click.group()
def worker() -> None:
    """Run submissions in a sandbox (operators)."""


@worker.command()
@click.option("--log-level", default="INFO", show_default=True, help="How much to log.")
def run(log_level: str) -> None:
    """Claim and run submissions until told to stop (SIGTERM); settings come from ANYSHOT_*."""
    from anyshot_core.logs import JsonLines, send_to_standard_error
    from anyshot_worker import process
    from anyshot_worker.sandbox import SandboxError
    from anyshot_worker.settings import WorkerSettings

    try:
        settings = WorkerSettings()  # pyright: ignore[reportCallIssue] - filled from the environment
    except ValidationError as error:
        missing = "; ".join(f"ANYSHOT_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors())
        raise click.ClickException(
            f"The settings of this worker are not complete: {missing}. To get them: anyshot worker join ADDRESS"
        ) from error
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    send_to_standard_error(JsonLines() if settings.log_format == "json" else text, log_level)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        process.run(settings)
    except SandboxError as error:
        raise click.ClickException(str(error)) from error


for command in (join, *COMMANDS):
    worker.add_command(command)

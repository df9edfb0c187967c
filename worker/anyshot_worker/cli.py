"""`anyshot worker ...`: what an operator of a worker types."""

import logging
import time

import click
from pydantic import ValidationError

from anyshot_worker.commands_join import join
from anyshot_worker.commands_sandbox import COMMANDS
from anyshot_worker.settings import WorkerSettings

HANDOVER_SECONDS = 60.0  # that a worker has for handing its runs over before its time is up


@click.group()
def worker() -> None:
    """Run submissions in a sandbox (operators)."""


@worker.command()
@click.option("--log-level", default="INFO", show_default=True, help="How much to log.")
@click.option("--until-idle", is_flag=True, help="End as soon as nothing waits for this worker.")
@click.option(
    "--stop-before",
    type=click.FloatRange(min=0),
    metavar="MINUTES",
    help="Hand the runs over, and end, a minute before so many are over; in a Slurm job, before the job's end.",
)
@click.option("--job-ends-at", type=float, envvar="SLURM_JOB_END_TIME", hidden=True)
def run(log_level: str, until_idle: bool, stop_before: float | None, job_ends_at: float | None) -> None:
    """Claim and run submissions until told to stop (SIGTERM); settings come from ANYSHOT_*."""
    from anyshot_core.logs import JsonLines, send_to_standard_error
    from anyshot_worker import process
    from anyshot_worker.sandbox import SandboxError

    seconds = float("inf") if job_ends_at is None else job_ends_at - time.time()
    if stop_before is not None:
        seconds = stop_before * 60
    stop_at = time.monotonic() + seconds - HANDOVER_SECONDS
    settings = read_settings()
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    send_to_standard_error(JsonLines() if settings.log_format == "json" else text, log_level)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        process.run(settings, until_idle=until_idle, stop_at=stop_at)
    except SandboxError as error:
        raise click.ClickException(str(error)) from error


@worker.command()
@click.option("--partition", required=True, help="The partition that the jobs go to.")
@click.option("--most", type=click.IntRange(min=1), default=4, show_default=True, help="Jobs at once.")
@click.option(
    "--minutes", type=click.IntRange(min=2), default=240, show_default=True, help="Time limit of a job."
)
@click.option("--job-name", default="", help="Name of the jobs, and no others'; anyshot-CLASS if left out.")
@click.option("--every", type=float, default=60.0, show_default=True, help="Seconds between two looks.")
@click.option("--once", is_flag=True, help="Look once and end, for a timer such as cron.")
@click.argument("options", nargs=-1)
def slurm(
    partition: str,
    most: int,
    minutes: int,
    job_name: str,
    every: float,
    once: bool,
    options: tuple[str, ...],
) -> None:
    """Submit as many Slurm jobs, a worker each, as runs of ANYSHOT_HARDWARE_CLASS wait for.

    A job ends when nothing waits for it. What stands after -- goes to sbatch: -- --gres=gpu:1 --account=lab
    """
    from anyshot_worker.client import PlatformUnreachable, WorkerApiError, WorkerClient
    from anyshot_worker.slurm import Cluster, SlurmError, look

    settings = read_settings()
    kind = settings.hardware_class
    cluster = Cluster(partition, most, minutes, job_name or f"anyshot-{kind}", options)
    client, said = WorkerClient(settings.platform_url, settings.worker_token.get_secret_value()), ""
    while True:
        try:
            words = look(client, cluster, kind)
        except (WorkerApiError, SlurmError) as error:
            if once or not isinstance(error, (PlatformUnreachable, SlurmError)):
                raise click.ClickException(str(error)) from error
            words = str(error)
        if words != said:
            click.echo(words)
        if once:
            return
        said = words
        time.sleep(every)


def read_settings() -> WorkerSettings:
    """The settings of a worker; raises `ClickException` that names what is missing."""
    try:
        return WorkerSettings()  # pyright: ignore[reportCallIssue] - filled from the environment
    except ValidationError as error:
        missing = "; ".join(f"ANYSHOT_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors())
        raise click.ClickException(
            f"The settings of this worker are not complete: {missing}. To get them: anyshot worker join ADDRESS"
        ) from error


for command in (join, *COMMANDS):
    worker.add_command(command)

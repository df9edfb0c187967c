"""The chaos benchmark in a small form: real workers, real sandboxes, PostgreSQL and Redis, everything dies in turn."""

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.servers import find_postgres
from tests.services.processes import find_program

ROOT = Path(__file__).parents[3]
NEVER = ("not_ended", "not_exactly_one_score", "wrong_scores", "containers_left")


def run_chaos(*options: str, seconds: float) -> str:
    """What the benchmark says; nothing that it started outlives it, however it ends."""
    command = [sys.executable, "-m", "benchmarks.chaos", *options]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=seconds)[0]
        except BaseException:
            end_with_children(process)
            raise


def end_with_children(process: subprocess.Popen[str]) -> None:
    """Let the benchmark stop what it started, each in a session of its own; then end whatever is left of it."""
    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(60)
    process.kill()
    for child in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()


@pytest.mark.slow("eight submissions, during which each server and worker dies once and comes back")
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("docker_daemon")
def test_every_submission_ends_with_one_right_score_whatever_dies() -> None:
    """How soon what died is back is for the benchmark itself to judge, on a machine that does nothing else."""
    if find_postgres() is None or find_program("redis-server") is None:
        pytest.skip("PostgreSQL or Redis is not installed (Debian: apt-get install postgresql redis-server)")
    options = ("--submissions", "8", "--seed", "3", "--minutes", "15", "--print-only")
    told = run_chaos(*options, seconds=1600)
    print(told)
    for name in NEVER:
        assert f"\nchaos.{name}\t0\t" in told, told[-4000:]

"""The chaos benchmark in a small form: real workers, real sandboxes, PostgreSQL and Redis, everything dies in turn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.servers import find_postgres
from tests.services.processes import find_program

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.usefixtures("docker_daemon")
def test_every_submission_ends_with_one_right_score_whatever_dies() -> None:
    if find_postgres() is None or find_program("redis-server") is None:
        pytest.skip("PostgreSQL or Redis is not installed (Debian: apt-get install postgresql redis-server)")
    command = [
        sys.executable,
        "-m",
        "benchmarks.chaos",
        "--submissions",
        "8",
        "--seed",
        "3",
        "--minutes",
        "5",
    ]
    done = subprocess.run([*command, "--print-only"], cwd=ROOT, capture_output=True, text=True, timeout=560)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "chaos.not_exactly_one_score\t0\t" in done.stdout

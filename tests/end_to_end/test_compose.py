"""`docker-compose.yml` brought up for real, on images made of Debian's packages: one submission to the leaderboard.

It takes minutes (images are built), so it is a make target of its own: `make compose`.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.client import Client
from anyshot_core.command import AS_PROCESS
from anyshot_platform.server.demo.organizer import DemoCompetition
from anyshot_platform.server.demo.participants import ENDED, Entrant, Participant, entering
from releasing import hashes
from tests.services.processes import find_program, free_port, wait_until

ROOT = Path(__file__).parents[2]
PROJECT = "anyshotcomposetest"
# moto stands in for MinIO; redis asks for async-timeout below Python 3.11.3, which Debian 12 has and the host may not.
BESIDES = ("pip", "setuptools", "moto[s3,server]", "async-timeout")
FILES = ("docker-compose.yml", "docker/debian/docker-compose.yml")
STAGE = """
import json
from pathlib import Path
from anyshot_platform.app import make_services
from anyshot_platform.server.demo.data import prepare_data
from anyshot_platform.server.demo.organizer import set_the_stage
from anyshot_platform.foundation.settings import read_settings
services = make_services(read_settings())
data = prepare_data(None, Path("/tmp/demo"), lambda line: None)
stage = set_the_stage(services, data, tasks=3, budget_seconds=120.0)
print(json.dumps([stage.competition, stage.phase, stage.organizer, stage.password]))
"""

pytestmark = [
    pytest.mark.slow("images are built, and five services are started from them"),
    pytest.mark.timeout(3600),  # images are built
    pytest.mark.skipif("ANYSHOT_COMPOSE" not in os.environ, reason="takes minutes: run `make compose`"),
    pytest.mark.skipif(find_program("docker-compose") is None, reason="docker-compose is not installed"),
    pytest.mark.skipif(find_program("mmdebstrap") is None, reason="mmdebstrap is not installed"),
]


@dataclass(frozen=True)
class Compose:
    """A project of docker-compose in a copy of the tree."""

    folder: Path
    environment: dict[str, str]
    address: str

    def __call__(self, *arguments: str, given: str = "", more: dict[str, str] | None = None) -> str:
        """Run a command of docker-compose; returns what it printed."""
        files = [part for name in FILES for part in ("-f", name)]
        done = subprocess.run(
            ["docker-compose", "-p", PROJECT, *files, *arguments],
            cwd=self.folder,
            env=self.environment | (more or {}),
            input=given,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (
            f"docker-compose {arguments}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
        return done.stdout


@pytest.fixture(scope="module")
def compose(docker_daemon: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compose]:
    """Web, scheduler, database, broker and storage, up and ready."""
    folder = tmp_path_factory.mktemp("compose")
    copy_tree(folder)
    hashes.write(folder, folder / "docker")
    collect_wheels(folder, folder / "wheels")
    subprocess.run([ROOT / "docker/debian/make-bases.sh"], check=True)
    image = [*AS_PROCESS, "worker", "image", "build"]
    subprocess.run(image, check=True, capture_output=True)
    port = free_port()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ANYSHOT_")}
    environment = inherited | {
        "ANYSHOT_SECRET_KEY": secrets.token_hex(32),
        "ANYSHOT_DATABASE_PASSWORD": secrets.token_hex(16),
        "ANYSHOT_S3_SECRET_KEY": secrets.token_hex(16),
        "ANYSHOT_REDIS_PASSWORD": secrets.token_hex(16),
        "ANYSHOT_STORAGE_ROOT_PASSWORD": secrets.token_hex(16),
        "ANYSHOT_BASE_IMAGE": "anyshot/debian-platform:bookworm",
        "ANYSHOT_PIP_FLAGS": "--no-index --find-links /build/wheels",
        "ANYSHOT_WORKER_ANALYSIS": "",
        "ANYSHOT_LISTEN": f"127.0.0.1:{port}",
        "ANYSHOT_BASE_URL": f"http://127.0.0.1:{port}",
    }
    project = Compose(folder, environment, environment["ANYSHOT_BASE_URL"])
    try:
        project("up", "-d", "--build")
        wait_until(lambda: is_ready(project.address), "the composed site", 120)
        yield project
    finally:
        project("--profile", "cpu", "down", "--volumes", "--timeout", "20")


def copy_tree(target: Path) -> None:
    """What belongs to the product, and nothing that lies beside it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)


def collect_wheels(tree: Path, folder: Path) -> None:
    """What both images install, by hash, and what the storage's stand-in needs, downloaded on the host."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--only-binary",
        ":all:",
        "--dest",
        str(folder),
    ]
    for image in ("platform", "worker"):
        subprocess.run(
            [*command, "--require-hashes", "-r", f"docker/{image}/requirements.txt"], cwd=tree, check=True
        )
    subprocess.run([*command, "-c", "constraints.txt", *BESIDES], cwd=ROOT, check=True)


def is_ready(address: str) -> bool:
    """Whether the site answers and its database, storage and schema are there."""
    asked = subprocess.run(["curl", "-fsS", f"{address}/ready"], capture_output=True)
    return asked.returncode == 0


def test_one_submission_goes_through_the_composed_site_to_the_leaderboard(
    compose: Compose, tmp_path: Path
) -> None:
    printed = compose("exec", "-T", "web", "/opt/anyshot/bin/python3", "-", given=STAGE)
    stage = DemoCompetition(*read_line(printed))
    token = compose("exec", "-T", "web", "anyshot", "admin", "worker-token", "cpu-1").split()[-1]
    compose("--profile", "cpu", "up", "-d", "--build", more={"ANYSHOT_WORKER_TOKEN": token})
    bundle = Path(shutil.make_archive(str(tmp_path / "random"), "zip", ROOT / "baselines" / "random"))
    with entering(compose.address, stage, [Entrant("alice", "Random", bundle)]) as (participant,):
        shown = wait_for_the_end(participant, 240)
    assert shown["status"] == "finished", json.dumps(shown, indent=1)
    with Client(compose.address) as nobody:
        board = nobody.leaderboard(stage.competition, stage.phase)
    assert [row["team"] for row in board["rows"]] == ["alice"]
    assert board["rows"][0]["score"] == shown["score"]
    said = compose("exec", "-T", "web", "anyshot", "admin", "backup", "/tmp/site.tar")
    assert "/tmp/site.tar" in said, said


def read_line(printed: str) -> list[str]:
    """The JSON list that the stage's script printed last."""
    return json.loads(printed.strip().splitlines()[-1])


def wait_for_the_end(participant: Participant, seconds: float) -> dict[str, Any]:
    """The participant's submission, once it has ended."""
    deadline = time.monotonic() + seconds
    while (shown := participant.look())["status"] not in ENDED:
        assert time.monotonic() < deadline, f"not ended: {shown}"
        time.sleep(1)
    return shown

"""Python alone, and a running site: install, init, check, data, smoke test, submit, first row of the leaderboard."""

import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.client import Client
from anyshot_platform.app import create_app, make_services
from anyshot_platform.contest.kit.wheels import kit_version
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.server.demo.organizer import DemoCompetition, set_the_stage
from anyshot_platform.server.demo.server import make_settings, serving
from tests.end_to_end.site import ready_sandbox, small_data
from tests.packages.empty import Contained, Empty
from tests.platform.conftest import make_settings as settings_of_tests
from tests.services.processes import find_program, free_port
from tests.services.sites import served

CONSTRAINTS = str(Path(__file__).parents[2] / "constraints.txt")
pytestmark = [
    pytest.mark.slow("fills empty environments, and runs a submission in a sandbox"),
    pytest.mark.timeout(1500),
]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """The kit's index of a running site."""
    settings = settings_of_tests(tmp_path)
    services = make_services(settings)
    migrate(services.database)
    with served(create_app(settings, services), free_port()) as address:
        yield f"{address}/kit/simple/"


def anyshot(kit: Empty, *words: str) -> str:
    """A command that has to succeed; what it printed."""
    done = kit("anyshot", *words)
    assert done.returncode == 0, f"anyshot {' '.join(words)}:\n{done.stdout}{done.stderr}"
    return done.stdout


def set_up(folder: Path, packs: dict[str, Path]) -> tuple[Any, DemoCompetition]:
    settings = make_settings(folder, None, None)
    services = make_services(settings)
    migrate(services.database)
    stage = set_the_stage(services, small_data(packs), tasks=2, budget_seconds=600)
    services.database.dispose()
    return settings, stage


def train_briefly(method: Path) -> None:
    """What a participant in a hurry changes in the template."""
    model = method / "model.py"
    model.write_text(re.sub(r"^TRAIN_TASKS = \d+", "TRAIN_TASKS = 2", model.read_text(), flags=re.MULTILINE))


@pytest.fixture(params=["environment", "container"])
def kind(request: pytest.FixtureRequest) -> str:
    """What the participant has: a new environment on this machine, or a container of Python alone."""
    if request.param == "container":
        request.getfixturevalue("docker_daemon")
        if not find_program("mmdebstrap"):
            pytest.skip("mmdebstrap is not installed, which makes a container of Python alone")
    return request.param


def participant(kind: str, folder: Path, index: str) -> AbstractContextManager[Empty]:
    """The participant's Python, as long as the context lasts."""
    return Contained.up(folder, index) if kind == "container" else nullcontext(Empty.make(folder))


def test_from_nothing_to_the_first_row(kind: str, demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """A real site process with its worker, a real sandbox; the participant has what pip fetched from the site."""
    sandbox = ready_sandbox()
    (home := tmp_path / "site").mkdir()
    shutil.copy(CONSTRAINTS, tmp_path)
    settings, stage = set_up(home, demo_packs)
    with (
        serving(settings, sandbox) as server,
        participant(kind, tmp_path, index := f"{server.address}/kit/simple/") as kit,
    ):
        kit.install(
            "--extra-index-url", index, f"anyshot-starting-kit=={kit_version()}", "-c", "constraints.txt"
        )
        assert kit.size() < 150e6 and kit("python", "-c", "import torch").returncode != 0
        anyshot(kit, "init", "mine")
        train_briefly(tmp_path / "mine")
        anyshot(kit, "check", "mine")
        with Client(server.address) as nobody:
            nobody.sign_up("ada", "ada@example.org", "a-long-password-of-ada")
        anyshot(
            kit,
            "login",
            "--server",
            server.address,
            "--username",
            "ada",
            "--password",
            "a-long-password-of-ada",
        )
        target = f"{stage.competition}/{stage.phase}"
        assert "anyshot dry-run my-method --data" in anyshot(kit, "data", "get", stage.competition)
        assert "score" in anyshot(kit, "submit", "mine", "--to", target, "--join", "--smoke", "--follow")
        printed = anyshot(kit, "submit", "mine", "--to", target, "--join", "--follow")
        assert "is queued" in printed and "Watch it" not in printed  # it is watched
        with Client(server.address) as nobody:
            (row,) = nobody.leaderboard(stage.competition, stage.phase)["rows"]
    assert row["team"] == "ada" and f"{row['score']:.4f}" in printed.replace("\N{MINUS SIGN}", "-")


def test_the_torch_of_the_machine_is_used(index: str, tmp_path: Path) -> None:
    """Nobody who has a torch, even without its torchvision, gets another one; a dry run takes the one that is there."""
    kit = Empty.make(tmp_path / "kit")
    kit.add_packages_of_the_machine(without=("torchvision", "timm"))
    assert kit("python", "-c", "import torch").returncode == 0
    asked = f"anyshot-starting-kit[torch]=={kit_version()}"
    kit.install("--extra-index-url", index, asked, "-c", CONSTRAINTS, pip=True)
    brought = {path.name for path in kit.packages.iterdir()}
    assert brought & {"torch", "torchvision", "timm"} == set() and not list(kit.packages.glob("nvidia*"))
    anyshot(kit, "init", "mine")
    train_briefly(kit.folder / "mine")
    printed = anyshot(kit, "dry-run", "mine", "--quick", "--tasks", "1", "--ways", "2", "--shots", "1")
    assert "score" in printed.lower()

"""Every package works from its wheel, in an environment that holds what it asks for and nothing else."""

import importlib.metadata
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anyshot_platform.app import create_app, make_services
from anyshot_platform.foundation.migration import migrate
from tests.packages.building import PROJECTS, UV, build, run
from tests.platform.conftest import make_settings
from tests.services.processes import free_port
from tests.services.sites import served

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow("builds seven wheels and fills four environments")

Environment = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheels"), [ROOT / project for project in PROJECTS], "--wheel")


@pytest.fixture(scope="module")
def install(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Environment]:
    """`install(what, *where)` makes an environment and returns what runs its programs, in a folder of its own.

    Without `where` our own packages come from the built wheels.
    """

    def make(what: str, *where: str) -> Environment:
        folder = tmp_path_factory.mktemp("environment")
        python = folder / "venv/bin/python"
        constraints = str(ROOT / "constraints.txt")
        for command in (
            (UV, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")),
            (UV, "pip", "install", "--quiet", "--python", str(python), *(where or ("--find-links", str(wheels))),
             "--constraint", constraints, what),
        ):  # fmt: skip
            done = run(*command, cwd=folder)
            assert done.returncode == 0, done.stderr
        return lambda program, *words: run(
            str(python.with_name(program)), *words, cwd=folder, HOME=str(folder)
        )

    return make


@pytest.fixture
def site_address(tmp_path: Path) -> Iterator[str]:
    """A running site."""
    settings = make_settings(tmp_path)
    services = make_services(settings)
    migrate(services.database)
    with served(create_app(settings, services), free_port()) as address:
        yield address


def has(environment: Environment, module: str) -> bool:
    return environment("python", "-c", f"import {module}").returncode == 0


def size_of(environment: Environment) -> int:
    """Bytes of all installed packages."""
    code = (
        "import pathlib, sysconfig; folder = pathlib.Path(sysconfig.get_path('purelib'));"
        "print(sum(path.stat().st_size for path in folder.rglob('*') if path.is_file()))"
    )
    return int(environment("python", "-c", code).stdout)


def test_the_starting_kit_checks_and_packs_without_torch(install: Callable[[str], Environment]) -> None:
    kit = install("anyshot-starting-kit")
    assert not has(kit, "torch") and not has(kit, "anyshot_platform") and size_of(kit) < 150e6
    for words in (
        ("init", "mine"),
        ("check", "mine"),
        ("pack", "mine", "-o", "mine.zip"),
        ("check", "mine.zip"),
    ):
        done = kit("anyshot", *words)
        assert done.returncode == 0, f"anyshot {' '.join(words)}: {done.stdout}{done.stderr}"
    refused = kit("anyshot", "dry-run", "mine")
    assert refused.returncode != 0 and "/docs/participants/first-submission/" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert " admin " not in kit("anyshot", "--help").stdout


SITE = """
import sys
from pathlib import Path
from fastapi.testclient import TestClient
from anyshot_platform.app import create_app, make_services
from anyshot_platform.standings.baselines.actions.service import builtin_folder
from anyshot_platform.foundation.migration import is_current, migrate
from anyshot_platform.foundation.settings import read_embedded_settings

settings = read_embedded_settings(Path("site"))
services = make_services(settings)
migrate(services.database)
assert is_current(services.database)
names = ("random", "train-from-scratch", "prototypical-networks", "matching-networks", "fo-maml", "metadelta")
assert all(builtin_folder(services, name) for name in names), [n for n in names if not builtin_folder(services, n)]
client = TestClient(create_app(settings, services))
written = ("/docs", "/docs/participants/", "/docs/operators/deployment/")
generated = ("/docs/participants/commands/", "/docs/operators/settings/", "/docs/science/commands/")
for page in ("/", *written, *generated, "/api/docs", "/ready"):
    answer = client.get(page)
    assert answer.status_code == 200, (page, answer.status_code)
assert "torch" not in sys.modules
"""


def test_the_platform_serves_its_documentation_migrates_and_has_baselines(
    install: Callable[[str], Environment],
) -> None:
    platform = install("anyshot-platform")
    assert not any(has(platform, name) for name in ("torch", "anyshot_analysis"))
    done = platform("python", "-c", SITE)
    assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr
    assert "admin" in platform("anyshot", "--help").stdout


WORKER = """
from pathlib import Path
from anyshot_worker.images.build import copy_ours, write_context
from anyshot_worker.sandbox.profile import read_profile
from anyshot_worker.settings import WorkerSettings

assert "SCMP_ACT_ALLOW" in read_profile()
copy_ours(Path("site"))
write_context("cpu", Path("context"))
assert Path("context/Dockerfile").stat().st_size and not Path("context/Dockerfile").is_symlink()
assert Path("site/anyshot_starting_kit/runner/session.py").is_file()
"""


def test_a_participant_installs_the_kit_from_the_site(
    site_address: str, install: Callable[..., Environment]
) -> None:
    """The wheels of the running site, of its own version, beside the usual index for everything else."""
    version = importlib.metadata.version("anyshot-starting-kit")
    kit = install(f"anyshot-starting-kit=={version}", "--extra-index-url", f"{site_address}/kit/simple/")
    assert kit("anyshot", "init", "mine").returncode == 0
    checked = kit("anyshot", "check", "mine")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert importlib.metadata.version("anyshot-core") in kit("anyshot", "--version").stdout


def test_a_worker_from_the_site_has_what_it_builds_sandboxes_of(
    site_address: str, install: Callable[..., Environment]
) -> None:
    version = importlib.metadata.version("anyshot-worker")
    worker = install(f"anyshot-worker=={version}", "--extra-index-url", f"{site_address}/kit/simple/")
    assert not has(worker, "torch") and not has(worker, "anyshot_platform")
    assert "Make this machine a worker" in worker("anyshot", "worker", "join", "--help").stdout
    done = worker("python", "-c", WORKER)
    assert done.returncode == 0, done.stderr
    assert worker("anyshot", "worker", "--help").returncode == 0


def test_wheels_carry_no_link_and_no_path_out(wheels: Path) -> None:
    """What is a link in a checkout is a file in a wheel."""
    (platform,) = wheels.glob("anyshot_platform-*.whl")
    names = zipfile.ZipFile(platform).namelist()
    needed = ("_docs/index.md", "_reference/science/commands.md", "_migrations/env.py")
    for name in (*needed, "_baselines/prototypical_networks/model.py"):
        assert f"anyshot_platform/{name}" in names
    assert not any(".." in name or "__pycache__" in name for name in names)

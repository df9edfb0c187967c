"""What a release uploads: seven wheels and seven sdists, complete, and the same package either way."""

import re
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_core.command import main as anyshot
from tests.packages.building import PROJECTS, build, run

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow("builds seven wheels and seven sdists, and each wheel again from its sdist")
VERSION = (ROOT / "about/version.txt").read_text().strip()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheels and sdists of all packages."""
    return build(tmp_path_factory.mktemp("made"), [ROOT / project for project in PROJECTS])


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def wheel_of(folder: Path, project: str) -> Path:
    (wheel,) = folder.glob(f"anyshot_{project}-*.whl")
    return wheel


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_index_would_take_them(made: Path) -> None:
    files = sorted(str(path) for path in made.glob("anyshot_*"))
    assert len(files) == 2 * len(PROJECTS)
    checked = run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=made)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("project", PROJECTS)
def test_metadata_are_complete_and_our_own_packages_are_pinned(made: Path, project: str) -> None:
    told = metadata_of(wheel_of(made, project))
    assert told["Version"] == VERSION
    assert told["License-Expression"] == "Apache-2.0" and told.get_all("License-File") == ["about/LICENSE"]
    assert told["Summary"] and told["Description-Content-Type"] == "text/markdown"
    assert f"# anyshot-{project.replace('_', '-')}\n" in told.get_payload()
    assert "Programming Language :: Python :: 3.11" in told.get_all("Classifier", [])
    ours = [
        asked.partition(";")[0] for asked in told.get_all("Requires-Dist", []) if asked.startswith("anyshot")
    ]
    assert all(re.fullmatch(rf"anyshot-[a-z-]+(\[[a-z]+\])?=={re.escape(VERSION)}", one) for one in ours)


def test_no_package_brings_the_studies_along(made: Path) -> None:
    told = [metadata_of(wheel_of(made, project)) for project in PROJECTS]
    asked = {one["Name"]: " ".join(one.get_all("Requires-Dist", [])) for one in told}
    assert [name for name, packages in asked.items() if "anyshot-studies" in packages] == []
    held = [name for name in contents(wheel_of(made, "studies")) if "/_reproductions/" in name]
    assert held == ["anyshot_studies/_reproductions/published.toml"], "results are the documentation's"


@pytest.mark.parametrize("project", PROJECTS)
def test_an_unpacked_sdist_makes_the_same_wheel_far_from_the_checkout(
    made: Path, project: str, tmp_path: Path
) -> None:
    (sdist,) = made.glob(f"anyshot_{project}-*.tar.gz")
    with tarfile.open(sdist) as archive:
        assert all(entry.isfile() for entry in archive), "an sdist has no links"
        archive.extractall(tmp_path, filter="data")
    again = build(tmp_path / "again", [tmp_path / sdist.name.removesuffix(".tar.gz")])
    assert contents(wheel_of(again, project)) == contents(wheel_of(made, project))


def python_of(readme: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", readme.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("project", PROJECTS)
def test_the_description_runs(project: str, tmp_path: Path) -> None:
    """What a package's first page shows is executed; what it links to does not hang on a host."""
    readme = ROOT / project / "README.md"
    for code in python_of(readme):
        done = run(sys.executable, "-c", code, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "](" not in readme.read_text(), "a relative link leads nowhere on an index"


def commands_of(readme: Path) -> set[str]:
    """The commands that a description shows, without their arguments: `anyshot admin serve`."""
    shown = re.findall(r"^    anyshot ([a-z-]+)(?: ([a-z-]+)(?= |$))?", readme.read_text(), re.MULTILINE)
    groups = {"admin", "worker", "analyse"}
    return {f"{first} {second}".strip() if first in groups else first for first, second in shown}


@pytest.mark.parametrize("project", PROJECTS)
def test_commands_of_the_description_exist(project: str) -> None:
    for words in commands_of(ROOT / project / "README.md"):
        asked = CliRunner().invoke(anyshot, [*words.split(), "--help"])
        assert asked.exit_code == 0, f"{words}: {asked.output}"

"""The rules of the layout that everything else relies on."""

import re
import subprocess
import sys

import pytest

from tests.architecture.structure import PROJECTS, ROOT, climbing_paths


@pytest.mark.parametrize("folder", ["platform", "docker"])
def test_no_python_file_lies_directly_in_a_folder_that_names_another_module(folder: str) -> None:
    assert not list((ROOT / folder).glob("*.py")), f"{folder}/*.py would shadow the module {folder!r}"


def test_the_standard_library_platform_module_wins_from_the_root() -> None:
    code = "import platform, uuid; assert platform.python_version(); print(platform.__file__)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert str(ROOT) not in ran.stdout.replace(str(ROOT / ".venv"), "")


def test_every_test_folder_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    parents = {
        parent
        for folder in folders
        for parent in [folder, *folder.parents]
        if (ROOT / "tests") in [parent, *parent.parents]
    }
    assert not [folder for folder in parents if not (folder / "__init__.py").exists()]


def test_pytest_keeps_the_import_mode_that_works_here() -> None:
    assert "--import-mode=importlib" not in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("project", PROJECTS)
def test_every_folder_with_code_is_its_own_project(project: str) -> None:
    assert (ROOT / project / "pyproject.toml").exists()
    assert (ROOT / project / f"anyshot_{project}" / "__init__.py").exists()


@pytest.mark.parametrize("project", PROJECTS)
def test_no_module_is_a_drawer_for_everything(project: str) -> None:
    drawers = {"utils", "helpers", "common", "manager", "misc"}
    assert not [p for p in (ROOT / project).rglob("*.py") if p.stem in drawers]


@pytest.mark.seconds("reads or imports the whole product", each_time=True)
@pytest.mark.parametrize(
    "package",
    ["anyshot_starting_kit.cli", "anyshot_platform.app", "anyshot_platform.contest.bundles.page_values"],
)
def test_a_process_starts_without_what_takes_seconds_to_load(package: str) -> None:
    slow = {"torch", "scipy.stats", "matplotlib", "boto3", "pandas"}
    code = f"import sys, {package}; print(sorted({slow} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


def test_nothing_of_a_build_machine_is_committed() -> None:
    listed = subprocess.run(["git", "grep", "-nIE", r"(^|[^A-Za-z0-9_.])/(work|root)/", "--", "."],
                            cwd=ROOT, capture_output=True, text=True)  # fmt: skip
    found = [line for line in listed.stdout.splitlines() if "test_layout.py" not in line]
    assert not found, "these lines name a path of the machine they were written on"


def test_no_path_climbs_out_of_a_package() -> None:
    """What a package needs beside its code is package data, in a checkout by a link."""
    assert climbing_paths() == []


def test_one_module_writes_what_spreadsheets_open() -> None:
    """It knows which texts they would run."""
    folder = ROOT / "platform/anyshot_platform"
    writers = [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if re.search(r"csv\.(writer|DictWriter)\b", path.read_text())
    ]
    assert writers == ["foundation/tables.py"]

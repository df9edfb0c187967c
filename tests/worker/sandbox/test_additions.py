"""Packages that a phase adds to an image: resolved against what it has, installed by hash, listed, proved."""

import json
import os
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from anyshot_core.wire.inventory import shipped_inventory
from anyshot_core.wire.requirements import packages_image
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.commands_sandbox import image
from anyshot_worker.images.additions import resolve
from anyshot_worker.images.contents import look_inside, read_sbom, run_inside
from anyshot_worker.images.recipe import choose_recipe, pip_find_links
from anyshot_worker.images.root import SITE
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from anyshot_worker.sandbox.bubblewrap import BubblewrapBackend
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.interface import SandboxError
from tests.hostile.bench import Data, evaluate
from tests.hostile.cases import Expected
from tests.services.wheels import make_wheel
from tests.worker.sandbox.test_bubblewrap import bubblewrap, bubblewrap_data  # noqa: F401 - fixtures

VERSION = f"1.{os.getpid()}"  # test processes of a machine share its folder of images: each has its own in it
LIST = [f"shotgrid=={VERSION}"]
NAME = packages_image("cpu", LIST)
NUMPY = next(one.version for one in shipped_inventory().packages if one.name == "numpy")


def bill_of(*packages: tuple[str, str, str]) -> dict[str, Any]:
    """A bill of materials with these packages: name, version, import name."""
    told = [
        {
            "name": name,
            "version": version,
            "properties": [
                {"name": "anyshot:bytes", "value": "1"},
                {"name": "anyshot:imports", "value": imports},
            ],
        }
        for name, version, imports in packages
    ]
    return {"metadata": {"component": {"name": "anyshot-sandbox-cpu", "version": "0"}}, "components": told}


IMAGE = bill_of(
    ("numpy", "2.4.6", "numpy"), ("torch", "2.13.0+cpu", "torch"), ("opencv-python-headless", "5.0", "cv2")
)


TAKEN = ("numpy", "torch", "cv2", "six.py", "__pycache__", "anyshot_core")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where pip looks: a package, what it needs, and some that do not fit."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    make_wheel(
        folder,
        "shotgrid",
        VERSION,
        {"shotgrid/__init__.py": "import shotbase\n"},
        ["shotbase>=1", "numpy", "torch"],
    )
    make_wheel(folder, "shotbase", "1.2", {"shotbase.py": "import numpy\n"})
    make_wheel(folder, "oldgrid", "1.0", {"oldgrid.py": ""}, ["numpy<2"])
    make_wheel(folder, "numpy", "1.26.4", {"numpy.py": ""})
    make_wheel(folder, "broken", VERSION, {"broken.py": "import ctypes\nctypes.CDLL('libabsent.so.1')\n"})
    (folder / "sourceonly-1.0.tar.gz").write_bytes(b"")
    monkeypatch.setenv("ANYSHOT_WHEELHOUSE", " ".join(pip_find_links()))  # of the base
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def build(folder: Path, *words: str, lines: list[str] = LIST) -> tuple[int, str]:
    """`anyshot worker image build --add` with a list: its status, and what it said."""
    listed = folder / "list.txt"
    listed.write_text("\n".join(lines))
    done = CliRunner().invoke(image, ["build", "--add", str(listed), *words])
    assert done.exc_info is None or done.exc_info[0] is SystemExit, done.output
    return done.exit_code, done.output


def test_what_the_image_lacks_is_locked_by_the_hashes_of_its_wheels(wheels: Path) -> None:
    assert resolve(LIST, IMAGE, TAKEN, ()).lock == [
        f"{line} --hash=sha256:{sha256(next(wheels.glob(file)).read_bytes()).hexdigest()}"
        for line, file in (("shotbase==1.2", "shotbase-*"), (LIST[0], "shotgrid-*"))
    ]
    assert resolve(["numpy==2.4.6"], IMAGE, TAKEN, ()).lock == []  # it is there


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("numpy==1.26.4", "the list has numpy==1.26.4; the image has numpy 2.4.6."),
        ("oldgrid==1.0", "oldgrid 1.0 depends on numpy<2; the image has numpy 2.4.6."),
        ("sourceonly==1.0", "No matching distribution found for sourceonly==1.0"),
        ("shotgrid==7.0", "No matching distribution found for shotgrid==7.0"),
    ],
)
def test_what_does_not_fit_the_image_or_has_no_wheel_is_refused_with_the_reason(
    wheels: Path, line: str, words: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        resolve([line], IMAGE, TAKEN, ())
    assert words in str(refused.value)


def test_a_file_that_changed_since_is_not_installed(wheels: Path, tmp_path: Path) -> None:
    addition = resolve(LIST, IMAGE, TAKEN, ())
    make_wheel(wheels, "shotbase", "1.2", {"shotbase.py": "changed = True\n"})
    with pytest.raises(SandboxError, match="DO NOT MATCH THE HASHES"):
        addition.install(tmp_path / "site", "key")


@pytest.mark.parametrize(
    ("path", "name"),
    [("cv2/__init__.py", "cv2"), ("numpy/data.bin", "numpy"), ("six/__init__.py", "six"), ("api.py", "api")],
)
def test_nothing_of_the_image_is_replaced(wheels: Path, tmp_path: Path, path: str, name: str) -> None:
    make_wheel(wheels, "clashing", "5.1", {path: "", "fine.py": ""})
    with pytest.raises(SandboxError) as refused:
        resolve(["clashing==5.1"], IMAGE, TAKEN, ()).install(tmp_path / "site", "key")
    assert str(refused.value) == f"clashing 5.1 brings {name}, which the image has: leave clashing out"


def test_a_list_with_another_line_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    status, said = build(tmp_path, lines=["einops==0.8.2", "git+https://example.org/x"])
    assert status == 1
    assert f"{tmp_path / 'list.txt'}, line 2, “git+https://example.org/x”, is no package" in said


@pytest.fixture
def extended(
    bubblewrap: BubblewrapBackend,  # noqa: F811
    wheels: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[BubblewrapBackend]:
    """A machine with Bubblewrap, whose settings the command reads; what it builds is removed."""
    monkeypatch.setenv("ANYSHOT_SANDBOX", "bubblewrap")
    monkeypatch.setenv("ANYSHOT_STATE_FOLDER", str(bubblewrap.settings.state_folder))
    monkeypatch.setenv("ANYSHOT_IMAGES_FOLDER", str(bubblewrap.settings.images_folder))
    monkeypatch.setenv("ANYSHOT_UID_BASE", str(bubblewrap.settings.uid_base))
    yield bubblewrap
    for name in (NAME, packages_image("cpu", [f"broken=={VERSION}"])):
        shutil.rmtree(bubblewrap.settings.images_folder / name, ignore_errors=True)


@pytest.mark.slow("builds a folder and proves the sandbox in it")
def test_a_folder_with_a_package_is_built_proved_listed_and_runs_a_submission_that_imports_it(
    extended: BubblewrapBackend,
    bubblewrap_data: Data,  # noqa: F811
    tmp_path: Path,
) -> None:
    root = extended.settings.images_folder / f"root-{choose_recipe('cpu', SandboxSettings().wheelhouse).key}"
    before = (root / "usr/share/anyshot/sbom.json").read_bytes()
    status, said = build(tmp_path, "--as-folder")
    digest = extended.prepare(NAME).digest
    assert status == 0, said
    assert f"proved: {NAME} is {digest}\n" in said
    assert f"to offer it: add {NAME} to ANYSHOT_SANDBOX_IMAGES and start the worker again" in said
    assert extended.prepare("cpu").digest != digest
    assert (root / "usr/share/anyshot/sbom.json").read_bytes() == before
    assert not (root / SITE / "shotgrid").exists()
    told = look_inside(extended, NAME)
    assert told is not None and {"shotgrid", "shotbase", "torch"} <= told.importable
    parts = {part["name"]: part.get("hashes") for part in read_sbom(extended, NAME)["components"]}
    wheel = sha256((tmp_path / f"wheels/shotgrid-{VERSION}-py3-none-any.whl").read_bytes()).hexdigest()
    assert parts["shotgrid"] == [{"alg": "SHA-256", "content": wheel}]
    inside = (root.parent / NAME / SITE / "numpy/__init__.py").stat()
    assert inside.st_ino == (root / SITE / "numpy/__init__.py").stat().st_ino  # the base takes its space once

    submission = tmp_path / "submission"
    submission.mkdir()
    (submission / "model.py").write_text("import shotgrid\nfrom honest import MyLearner, MyMetaLearner\n")
    for name, verdict in ((NAME, Verdict.OK), ("cpu", Verdict.RUNTIME_ERROR)):
        settings = extended.settings.model_copy(update={"sandbox_image": name})
        sandboxes = Sandboxes(BubblewrapBackend(settings), settings)
        expected = Expected(number=0, attack="none", verdict=[verdict])
        seen = evaluate(sandboxes, bubblewrap_data, submission, expected, tmp_path)
        sandboxes.close()
        assert seen.outcome.verdict == verdict, seen.outcome.failure


@pytest.mark.slow("builds a folder")
def test_a_package_that_cannot_be_imported_in_a_box_is_said(
    extended: BubblewrapBackend, tmp_path: Path
) -> None:
    status, said = build(tmp_path, "--as-folder", lines=[f"broken=={VERSION}"])
    assert status == 1
    assert "what was added cannot be imported: broken: OSError('libabsent.so.1" in said
    assert "proved" not in said


@pytest.mark.slow("builds an image and proves the sandbox in it")
def test_a_docker_image_with_a_package_is_built_once_and_proved(
    docker_backend: DockerBackend, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYSHOT_STATE_FOLDER", str(docker_backend.settings.state_folder))
    monkeypatch.setenv("ANYSHOT_UID_BASE", str(docker_backend.settings.uid_base))
    monkeypatch.setenv("ANYSHOT_SANDBOX_IMAGES", json.dumps(["cpu", NAME]))
    monkeypatch.setenv("ANYSHOT_IMAGES_FOLDER", str(SandboxSettings().images_folder))
    status, said = build(tmp_path)
    assert status == 0, said
    found = docker_backend.prepare(NAME)
    try:
        assert f"proved: {NAME} is {found.digest}\n" in said
        assert "to offer it" not in said  # it is offered
        assert run_inside(docker_backend, NAME, "import shotgrid, torch; print('runs')") == b"runs\n"
        parts = {part["name"]: part["version"] for part in read_sbom(docker_backend, NAME)["components"]}
        assert (parts["shotgrid"], parts["shotbase"], parts["numpy"]) == (VERSION, "1.2", NUMPY)
        assert found.labels["org.anyshot.sbom"] != docker_backend.prepare("cpu").labels["org.anyshot.sbom"]
        assert found.labels["org.anyshot.torch"] == docker_backend.prepare("cpu").labels["org.anyshot.torch"]
        status, again = build(tmp_path)
        assert "adding what runs a submission" in said and "adding what runs a submission" not in again
    finally:
        docker_backend.client.remove_image(found.digest, force=True)

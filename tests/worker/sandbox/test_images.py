"""What is in the sandbox image, and that it is built only when something changed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_core.wire.inventory import shipped_inventory
from anyshot_worker.claiming import announce
from anyshot_worker.commands_sandbox import image
from anyshot_worker.images import build
from anyshot_worker.images.build import build_image, copy_ours
from anyshot_worker.images.contents import look_inside, read_sbom, run_inside
from anyshot_worker.images.own_packages import package_folders
from anyshot_worker.images.recipe import PINS, choose_recipe, layer_key
from anyshot_worker.images.root import SITE
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.flavours import command_to_build
from anyshot_worker.sandbox.interface import SandboxError
from tests.worker.sandbox.machine import sandbox_settings

CONTRACT = (
    "torch torchvision timm numpy scipy sklearn pandas PIL tqdm ot cython requests pytorch_metric_learning matplotlib"
    " einops cv2 kornia torchmetrics higher numba albumentations"
)
OURS = (
    "import os, json; d = '/usr/local/lib/python3.11/dist-packages'; print(json.dumps(sorted(os.listdir(d))))"
)


def test_of_ours_it_holds_scoring_core_and_what_runs_a_submission(docker_backend: DockerBackend) -> None:
    names = json.loads(run_inside(docker_backend, "cpu", OURS))
    ours = {name for name in names if name.startswith("anyshot") and not name.endswith(".dist-info")}
    assert ours == {"anyshot_scoring", "anyshot_core", "anyshot_starting_kit"}
    code = f"import json, os; print(json.dumps(os.listdir('/{SITE}/anyshot_starting_kit')))"
    inside = {name.removesuffix(".py") for name in json.loads(run_inside(docker_backend, "cpu", code))}
    assert inside - {"__pycache__", "py.typed"} == {
        "__init__",
        "adaptation_2022",
        "api",
        "budget",
        "episodes",
        "networks",
        "runner",
        "snapshots",
        "training",
    }


def test_packages_of_the_contract_are_importable(docker_backend: DockerBackend) -> None:
    code = "from anyshot_starting_kit.runner.vision import define_missing_operators as d; d(); import "
    assert run_inside(docker_backend, "cpu", f"{code}{', '.join(CONTRACT.split())}; print('all')") == b"all\n"


def test_there_is_no_shell_and_no_program_with_privileges(docker_backend: DockerBackend) -> None:
    code = (
        "import os, stat\n"
        "for top, _, names in os.walk('/'):\n"
        "    if top.startswith(('/proc', '/sys')): continue\n"
        "    for name in names:\n"
        "        mode = os.lstat(os.path.join(top, name)).st_mode\n"
        "        if mode & (stat.S_ISUID | stat.S_ISGID) and stat.S_ISREG(mode): print('privileged', top, name)\n"
        "        shells = ('sh', 'bash', 'dash', 'busybox', 'apt', 'dpkg')\n"
        "        if name in shells and mode & 0o111: print('shell', top, name)\n"
        "print('looked')"
    )
    assert run_inside(docker_backend, "cpu", code) == b"looked\n"


def test_bill_of_materials_names_versions(docker_backend: DockerBackend) -> None:
    sbom = read_sbom(docker_backend, "cpu")
    versions = {item["name"].lower(): item["version"] for item in sbom["components"]}
    assert f"numpy=={versions['numpy']}" in PINS
    assert {"torch", "python3.11-minimal", "libgomp1"} <= set(versions)
    labels = docker_backend.prepare("cpu").labels
    assert labels["org.anyshot.torch"] == versions["torch"]
    assert labels["org.anyshot.sbom"].startswith("sha256:")


def test_the_list_of_the_release_is_that_of_its_image(docker_backend: DockerBackend) -> None:
    """`anyshot worker image packages` prints it; of the CPU image it lies in core, for sites without a worker."""
    told = look_inside(docker_backend, "cpu")
    assert told is not None
    assert {one.name: one.imports for one in told.packages} == {
        one.name: one.imports for one in shipped_inventory().packages
    }
    assert (told.python, told.compiler) == (shipped_inventory().python, shipped_inventory().compiler)
    versions = {one.name.lower(): one.version for one in shipped_inventory().packages}
    pinned = {name.lower(): version for name, _, version in (pin.partition("==") for pin in PINS) if version}
    assert pinned.items() <= versions.items()
    assert {"torch", "cv2", "matplotlib", "api"} <= told.importable


def test_a_worker_tells_what_its_images_hold(sandbox_image: str, tmp_path: Path) -> None:
    settings = sandbox_settings(tmp_path)
    sandboxes = Sandboxes(DockerBackend(settings), settings)
    try:
        assert "einops" in announce("one", "cpu", sandboxes).inventories["cpu"].importable
    finally:
        sandboxes.close()


def test_second_build_does_nothing(sandbox_image: str) -> None:
    folder = SandboxSettings().images_folder
    first = build_image("cpu", folder, say=lambda line: None)
    second = build_image("cpu", folder, say=lambda line: None)
    assert first.key == second.key
    assert not second.built


def test_our_packages_are_replaced_only_where_they_differ(tmp_path: Path) -> None:
    """Boxes start from them while a second command builds; a worker with an older kit left others."""
    copy_ours(tmp_path)
    core, kit = tmp_path / "anyshot_core", tmp_path / "anyshot_starting_kit"
    first, complete = core.stat().st_ino, {path.name for path in tmp_path.iterdir()}
    session = kit / "runner" / "session.py"
    session.write_text("older")
    (kit / "removed.py").touch()
    copy_ours(tmp_path)
    assert core.stat().st_ino == first
    source = package_folders()["anyshot_starting_kit"] / "runner" / "session.py"
    assert session.read_bytes() == source.read_bytes() and not (kit / "removed.py").exists()
    assert {path.name for path in tmp_path.iterdir()} == complete


def test_keys_follow_the_inputs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    plain, gpu = choose_recipe("cpu"), choose_recipe("gpu")
    assert plain.torch == gpu.torch
    assert plain.key != gpu.key
    (tmp_path / "torch-9.9.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl").touch()
    wheel = choose_recipe("cpu", str(tmp_path))
    assert wheel.torch == "torch==9.9.0+cpu"
    assert choose_recipe("gpu", str(tmp_path)).torch == plain.torch
    assert layer_key("one") != layer_key("another")


def test_list_shows_what_phases_may_name(sandbox_image: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYSHOT_SANDBOX", "docker")
    monkeypatch.setenv("ANYSHOT_SANDBOX_IMAGES", '["cpu", "torch-2022"]')
    shown = CliRunner().invoke(image, ["list"])
    assert shown.exit_code == 0, shown.output
    assert "cpu: sha256:" in shown.output
    assert "torch-2022: the image 'torch-2022' is not on this machine" in shown.output


def test_a_build_without_the_program_docker_says_where_to_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's own image has none: it reaches the daemon by its socket alone."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ANYSHOT_IMAGES_FOLDER", str(tmp_path / "images"))
    for more in ([], ["--base", "registry.example.org/base"]):
        done = CliRunner().invoke(image, ["build", *more])
        assert (done.exit_code, done.exc_info and done.exc_info[0]) == (1, SystemExit), done.output
        assert "docker is not installed here" in done.output
        assert "its host: build them there, with anyshot worker image build" in done.output


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("cpu", "anyshot worker image build"),
        ("gpu", "anyshot worker image build --flavour gpu"),
        ("torch-2022", "anyshot worker image build --name torch-2022"),
        ("sha256:0", "anyshot worker image build"),
    ],
)
def test_a_missing_image_is_built_by_a_command_that_exists(
    name: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command_to_build(name) == command
    asked: list[tuple[str, str]] = []

    def note(flavour: str, folder: Path, wheelhouse: str, given: str, **_: object) -> build.Built:
        asked.append((flavour, given))
        return build.Built("tag", "name", "key", built=True)

    monkeypatch.setattr(build, "build_image", note)
    assert CliRunner().invoke(image, command.split()[3:]).exit_code == 0
    assert asked == [("gpu" if name == "gpu" else "cpu", name if name == "torch-2022" else "")]


def test_a_context_for_a_registry_holds_all_that_its_dockerfile_copies(tmp_path: Path) -> None:
    done = CliRunner().invoke(image, ["context", str(tmp_path / "context"), "--flavour", "cpu"])
    assert done.exit_code == 0, done.output
    assert "anyshot worker image build --flavour cpu --base NAME" in done.output
    context = tmp_path / "context"
    lines = (context / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    assert copied
    for name in (name for names in copied for name in names):
        assert (context / name).is_file(), name
    wanted = (context / "requirements.txt").read_text().split()
    assert set(PINS) < set(wanted)
    assert all("+" not in requirement for requirement in wanted)
    command = [sys.executable, "-I", str(context / "inventory.py"), "gpu", "key"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert told["metadata"]["component"] == {
        "type": "container",
        "name": "anyshot-sandbox-gpu",
        "version": "key",
    }


def test_the_layer_can_stand_on_a_base_from_elsewhere(
    sandbox_image: str, docker_backend: DockerBackend
) -> None:
    usual = docker_backend.client.inspect_image("anyshot/sandbox:cpu")["Config"]["Labels"]["org.anyshot.base"]
    base = f"anyshot/sandbox-base:cpu-{usual}"
    built = build_image(
        "cpu", SandboxSettings().images_folder, name="elsewhere", say=lambda line: None, base=base
    )
    try:
        assert built.name == "anyshot/sandbox:elsewhere"
        assert run_inside(docker_backend, "elsewhere", "import torch; print('runs')") == b"runs\n"
    finally:
        docker_backend.client.remove_image(built.name)


def test_a_base_that_cannot_be_had_is_said(sandbox_image: str) -> None:
    with pytest.raises(SandboxError, match="docker pull failed"):
        build_image(
            "cpu",
            SandboxSettings().images_folder,
            say=lambda line: None,
            base="127.0.0.1:9/no-such/image:none",
        )

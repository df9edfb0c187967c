"""Images, devices and torch builds are compared before code runs: no phase with GPUs runs on an image for CPUs."""

from pathlib import Path

import pytest
import yaml

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import Limits
from anyshot_worker.claiming import announce
from anyshot_worker.sandbox import Sandboxes, SandboxSettings, flavours, sandboxes
from anyshot_worker.sandbox.gpu import Gpu, Gpus
from anyshot_worker.sandbox.interface import SandboxError
from tests.worker.sandbox.conftest import SMALL
from tests.worker.sandbox.fake import FakeBackend
from tests.worker.sandbox.machine import sandbox_settings
from tests.worker.sandbox.test_gpu import FakeDevices

ROOT = Path(__file__).parents[3]
COMPOSE, KUBERNETES = ROOT / "docker-compose.yml", ROOT / "docker" / "kubernetes" / "workers.yaml"
BOTH = {"cpu": "cpu", "gpu": "gpu"}


def worker(tmp_path: Path, offered: tuple[str, ...], known: dict[str, str]) -> Sandboxes:
    """A worker on a machine with one GPU, that offers these images; the first is its usual one."""
    settings = sandbox_settings(tmp_path).model_copy(
        update={"sandbox_image": offered[0], "sandbox_images": offered}
    )
    made = Sandboxes(FakeBackend(flavours=known), settings)
    made._gpus = Gpus(tmp_path / "locks", FakeDevices([Gpu("GPU-a", "card")]))  # pyright: ignore[reportPrivateUsage]
    return made


@pytest.mark.parametrize(
    ("offered", "known", "announced"),
    [
        (("cpu",), BOTH, 0),
        (("gpu",), BOTH, 1),
        (("cpu", "gpu"), BOTH, 1),
        (("theirs",), {}, 1),  # somebody else's image says nothing of itself, and is believed
    ],
)
def test_a_worker_announces_devices_that_an_image_can_use(
    tmp_path: Path, offered: tuple[str, ...], known: dict[str, str], announced: int
) -> None:
    """What is not announced is not given: a run with GPUs is claimed by who has them."""
    made = worker(tmp_path, offered, known)
    try:
        told = announce("one", "gpu", made)
        assert len(told.gpus) == announced
        for_cpus = {name for name, flavour in known.items() if flavour == "cpu"} & set(offered)
        assert set(told.cpu_images) == for_cpus | ({""} if offered[0] in for_cpus else set())
    finally:
        made.close()


def test_a_run_with_gpus_never_starts_in_an_image_for_cpus(tmp_path: Path) -> None:
    made = worker(tmp_path, ("cpu", "gpu"), BOTH)
    try:
        with pytest.raises(SandboxError, match="asks for 1 GPU, and the image cpu") as caught:
            made.open("cpu", SMALL, "run", 1, gpus=1)
        assert (caught.value.verdict, caught.value.verdict.cause) == (Verdict.BAD_IMAGE, Cause.ORGANIZER)
        with pytest.raises(SandboxError, match="built for CPUs"):
            made.open(None, Limits(gpus=1), "run", 1)
        box = made.open("gpu", SMALL, "run", 1, gpus=1)
        assert box.box.spec.gpu_ids == ("GPU-a",), "nothing held the device"  # type: ignore[attr-defined]
        assert made.open("cpu", SMALL, "other", 1).image.name == "cpu"
    finally:
        made.close()


def test_a_worker_for_gpus_without_an_image_for_them_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = sandbox_settings(tmp_path).model_copy(update={"docker_runtime": "nvidia"})
    monkeypatch.setattr(sandboxes, "choose_backend", lambda _: FakeBackend(flavours=BOTH))
    monkeypatch.setattr(sandboxes, "require_guarantees", lambda *_: None)
    with pytest.raises(SandboxError, match="image build --flavour gpu"):
        Sandboxes.from_settings(settings)


@pytest.mark.parametrize(("errors", "starts"), [("0", True), ("3", False), (None, False)])
def test_a_worker_for_gpus_without_a_healthy_device_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, errors: str | None, starts: bool
) -> None:
    """As one in a container that was started without the runtime nvidia: it would announce none without a word."""
    settings = sandbox_settings(tmp_path).model_copy(
        update={"docker_runtime": "nvidia", "sandbox_image": "gpu"}
    )
    monkeypatch.setattr(sandboxes, "choose_backend", lambda _: FakeBackend(flavours=BOTH))
    monkeypatch.setattr(sandboxes, "require_guarantees", lambda *_: None)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    if errors is not None:
        write_smi(tmp_path / "nvidia-smi", errors)
    if starts:
        made = Sandboxes.from_settings(settings)
        assert made.gpu_names() == ["card (GPU-a)"]
        made.close()
        return
    with pytest.raises(SandboxError, match=r"no healthy GPU.*NVIDIA_VISIBLE_DEVICES=all") as caught:
        Sandboxes.from_settings(settings)
    assert caught.value.verdict is Verdict.SANDBOX_START


def write_smi(path: Path, errors: str) -> None:
    """An `nvidia-smi` that knows one card, with so many uncorrected errors."""
    listed = "[ $1 = -L ] && echo 'GPU 0: card (UUID: GPU-a)'"
    asked = f"case $1 in --query-gpu=*) printf 'GPU-a, card, 1024, {errors}\\n';; esac"
    path.write_text(f"#!/bin/sh\n{listed}\n{asked}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(("build", "can"), [("2.15.0+cpu", False), ("2.15.0", True), ("2.15.0+cu130", True)])
def test_without_a_sandbox_the_torch_that_is_installed_decides(
    monkeypatch: pytest.MonkeyPatch, build: str, can: bool
) -> None:
    monkeypatch.setattr(flavours, "version", lambda _: build)
    assert (flavours.labels_of_this_python().get(flavours.LABEL) != flavours.CPU) == can


def test_the_compose_files_workers_take_images_of_their_class() -> None:
    """Also where variables are left out: the settings' own default is the image for CPUs."""
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    found = {
        service["environment"]["ANYSHOT_HARDWARE_CLASS"]: service["environment"]["ANYSHOT_SANDBOX_IMAGE"]
        for name, service in services.items()
        if name.startswith("worker-")
    }
    assert found == {"cpu": "${ANYSHOT_SANDBOX_IMAGE:-}", "gpu": "gpu"}
    assert SandboxSettings.model_fields["sandbox_image"].default == "cpu"


def test_workers_of_the_kubernetes_manifest_take_images_of_their_class() -> None:
    found = {}
    for each in yaml.safe_load_all(KUBERNETES.read_text()):
        if each["kind"] == "ScaledJob":
            (container,) = each["spec"]["jobTargetRef"]["template"]["spec"]["containers"]
            given = {one["name"]: one.get("value") for one in container["env"]}
            found[given["ANYSHOT_HARDWARE_CLASS"]] = given.get("ANYSHOT_SANDBOX_IMAGE", "cpu")
    assert found == {"cpu": "cpu", "gpu": "gpu"}

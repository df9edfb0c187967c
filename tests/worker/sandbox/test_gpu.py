"""GPUs: exclusive, by their own name, not given on while anybody is on them. With a fake device layer."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Limits
from anyshot_worker.sandbox import Sandboxes
from anyshot_worker.sandbox.bubblewrap import BubblewrapBackend
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.flags import Placement, environment, host_config, shared_memory_bytes
from anyshot_worker.sandbox.gpu import Gpu, Gpus, GpuUse, NvidiaDevices
from anyshot_worker.sandbox.interface import AttemptKey, BoxSpec, SandboxError
from anyshot_worker.sandbox.trusted import TrustedBackend
from tests.worker.sandbox.conftest import SMALL
from tests.worker.sandbox.fake import FakeBackend, FakeBox
from tests.worker.sandbox.machine import sandbox_settings

SMI = """#!/bin/sh
case "$1 $3" in
  --query-gpu=utilization.gpu,memory.used*--id=GPU-aaaa) printf '37, 2048\\n' ;;
  --query-gpu=utilization.gpu,memory.used*) printf '[N/A], [Insufficient Permissions]\\n' ;;
  -L*) cat <<END
GPU 0: NVIDIA H200 (UUID: GPU-aaaa)
GPU 1: NVIDIA A100 (UUID: GPU-bbbb)
  MIG 3g.20gb     Device  0: (UUID: MIG-1111)
  MIG 3g.20gb     Device  1: (UUID: MIG-2222)
END
;;
  --query-gpu=*) printf 'GPU-aaaa, NVIDIA H200, 143771, 0\\nGPU-bbbb, NVIDIA A100, 40960, [N/A]\\n' ;;
  --query-compute-apps=*) printf 'GPU-aaaa, 4711\\nGPU-bbbb, 4712\\n' ;;
esac
"""


@dataclass
class FakeDevices:
    gpus: list[Gpu]
    busy: dict[str, list[int]] = field(default_factory=dict)
    uses: dict[str, GpuUse] = field(default_factory=dict)

    def list(self) -> list[Gpu]:
        return self.gpus

    def processes(self, uuid: str) -> list[int]:
        return self.busy.get(uuid, [])

    def use(self, uuid: str) -> GpuUse:
        return self.uses.get(uuid, GpuUse())


@pytest.fixture
def devices() -> FakeDevices:
    return FakeDevices([Gpu("GPU-a", "card"), Gpu("GPU-b", "card"), Gpu("GPU-sick", "card", healthy=False)])


def attempt(run_id: str, epoch: int = 1) -> AttemptKey:
    return AttemptKey(run_id, epoch)


def test_each_run_has_its_own(devices: FakeDevices, tmp_path: Path) -> None:
    one, other = Gpus(tmp_path, devices), Gpus(tmp_path, devices)  # two worker processes
    assert one.take(1, attempt("r1")) == ("GPU-a",)
    assert other.take(1, attempt("r2")) == ("GPU-b",)
    with pytest.raises(SandboxError, match="needs 1 GPU; healthy and free: 0") as caught:
        one.take(1, attempt("r3"))
    assert caught.value.verdict == Verdict.GPU_UNHEALTHY
    other.give_back(attempt("r2"))
    assert one.take(1, attempt("r3")) == ("GPU-b",)


def test_what_an_attempt_gives_back_is_its_own_not_that_of_the_next_one(
    devices: FakeDevices, tmp_path: Path
) -> None:
    gpus = Gpus(tmp_path, devices)
    assert gpus.take(1, attempt("r", 1)) == ("GPU-a",)
    assert gpus.take(1, attempt("r", 2)) == ("GPU-b",)
    gpus.give_back(attempt("r", 1))
    assert gpus.take(1, attempt("other")) == ("GPU-a",)  # and not the one that the second attempt is on


def test_too_few_takes_none(devices: FakeDevices, tmp_path: Path) -> None:
    gpus = Gpus(tmp_path, devices)
    with pytest.raises(SandboxError):
        gpus.take(3, attempt("r1"))
    assert gpus.take(2, attempt("r2")) == ("GPU-a", "GPU-b")


def test_a_device_with_a_process_on_it_is_kept(devices: FakeDevices, tmp_path: Path) -> None:
    gpus = Gpus(tmp_path, devices, patience=0.2)
    gpus.take(1, attempt("r1"))
    devices.busy["GPU-a"] = [42]
    with pytest.raises(SandboxError, match="do not leave GPU GPU-a"):
        gpus.give_back(attempt("r1"))
    devices.busy.clear()
    assert gpus.take(1, attempt("r2")) == ("GPU-b",)


def test_a_device_that_stays_busy_keeps_no_other_one_locked(devices: FakeDevices, tmp_path: Path) -> None:
    gpus = Gpus(tmp_path, devices, patience=0.2)
    gpus.take(2, attempt("r1"))
    devices.busy["GPU-a"] = [42]
    with pytest.raises(SandboxError, match=r"processes \[42\] do not leave GPU GPU-a"):
        gpus.give_back(attempt("r1"))
    assert gpus.take(1, attempt("r2")) == ("GPU-b",)


def test_devices_are_given_back_whatever_keeps_a_box_from_starting(
    devices: FakeDevices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = FakeBackend()
    made = Sandboxes(backend, sandbox_settings(tmp_path))
    made._gpus = Gpus(tmp_path / "locks", devices)  # pyright: ignore[reportPrivateUsage]

    def no_space(spec: BoxSpec) -> FakeBox:
        raise OSError("no space left on device")

    try:
        with monkeypatch.context() as context:
            context.setattr(backend, "start", no_space)
            with pytest.raises(OSError, match="no space"):
                made.open(None, SMALL, "run", 1, gpus=2)
        assert len(made.free_gpu_names()) == 2
    finally:
        made.close()


def test_a_busy_device_is_not_taken(devices: FakeDevices, tmp_path: Path) -> None:
    devices.busy["GPU-a"] = [42]
    assert Gpus(tmp_path, devices).take(1, attempt("r1")) == ("GPU-b",)


def test_names_leave_sick_ones_out(devices: FakeDevices, tmp_path: Path) -> None:
    assert Gpus(tmp_path, devices).names() == ["card (GPU-a)", "card (GPU-b)"]


def test_nvidia_smi_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI)
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = NvidiaDevices().list()
    assert [gpu.uuid for gpu in found] == ["GPU-aaaa", "MIG-1111", "MIG-2222"]
    assert found[0].memory_bytes == 143771 << 20
    assert NvidiaDevices().processes("GPU-aaaa") == [4711]


@pytest.mark.parametrize("gives", [True, False])
def test_a_sandbox_that_cannot_hand_gpus_on_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gives: bool
) -> None:
    """What is announced is what runs get: whoever has none is given no run that needs one."""
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI.replace("GPU-aaaa, 4711", "").replace("GPU-bbbb, 4712", ""))
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    made = Sandboxes(FakeBackend(gives_gpus=gives), sandbox_settings(tmp_path))
    try:
        assert len(made.gpu_names()) == (3 if gives else 0)
        if not gives:
            with pytest.raises(SandboxError, match="needs 1 GPU; healthy and free: 0"):
                made.open(None, SMALL, "run", 1, gpus=1)
    finally:
        made.close()


def test_which_sandboxes_hand_gpus_on(tmp_path: Path) -> None:
    settings = sandbox_settings(tmp_path)
    gives = {
        runtime: DockerBackend(settings.model_copy(update={"docker_runtime": runtime})).gives_gpus
        for runtime in ("runc", "nvidia", "runsc")
    }
    assert gives == {"runc": True, "nvidia": True, "runsc": False}
    assert BubblewrapBackend(settings).gives_gpus
    assert TrustedBackend(settings.model_copy(update={"trust_all_submissions": True})).gives_gpus


@pytest.mark.parametrize(("lent", "seen"), [((), ""), (("GPU-aaaa", "MIG-1111"), "GPU-aaaa,MIG-1111")])
def test_without_a_sandbox_a_run_sees_its_own_gpus_alone(
    tmp_path: Path, lent: tuple[str, ...], seen: str
) -> None:
    settings = sandbox_settings(tmp_path).model_copy(update={"trust_all_submissions": True})
    code = "import os; print('sees', os.environ['CUDA_VISIBLE_DEVICES'], flush=True)"
    box = TrustedBackend(settings).start(BoxSpec("", command=("-c", code), gpu_ids=lent))
    try:
        said = b""
        while not said.endswith(b"\n"):
            said += box.recv(20) or b"\n"
        assert said.decode() == f"sees {seen}\n"
    finally:
        box.close()


def test_what_a_card_does_is_read_and_a_slice_that_cannot_tell_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI)
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert NvidiaDevices().use("GPU-aaaa") == GpuUse(0.37, 2048 << 20)
    assert NvidiaDevices().use("MIG-1111") == GpuUse()


def test_a_run_is_told_what_its_devices_do(devices: FakeDevices, tmp_path: Path) -> None:
    devices.uses = {"GPU-a": GpuUse(0.5, 10), "GPU-b": GpuUse(1.0, 20)}
    gpus = Gpus(tmp_path, devices)
    gpus.take(2, attempt("run"))
    assert gpus.use(attempt("run")) == GpuUse(0.75, 30)
    assert gpus.use(attempt("another")) == GpuUse()


def test_a_machine_without_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert NvidiaDevices().list() == []


def test_devices_are_asked_for_by_name() -> None:
    place = Placement(20000, "/anyshot/x", Path("/a"), Path("/b"), "{}", runtime="nvidia")
    config = host_config(BoxSpec("gpu", gpu_ids=("GPU-a",)), place)
    assert config["Runtime"] == "nvidia"
    assert config["DeviceRequests"] == [
        {"Driver": "nvidia", "DeviceIDs": ["GPU-a"], "Capabilities": [["gpu", "compute", "utility"]]}
    ]
    by_cdi = host_config(BoxSpec("gpu", gpu_ids=("nvidia.com/gpu=0",)), place)
    assert by_cdi["DeviceRequests"] == [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=0"]}]
    for wrong in ("all", ""):
        with pytest.raises(ValueError, match="never all"):
            host_config(BoxSpec("gpu", gpu_ids=(wrong,)), place)


def test_a_gpu_box_has_more_shared_memory_and_its_caches_in_tmp() -> None:
    with_gpu = BoxSpec("gpu", Limits(memory_bytes=8 << 30), gpu_ids=("GPU-a",))
    assert shared_memory_bytes(with_gpu) > shared_memory_bytes(BoxSpec("cpu", Limits(memory_bytes=8 << 30)))
    assert environment(with_gpu)["CUDA_CACHE_PATH"] == "/tmp/cuda"

"""Every flag a container is started with, one small function a guarantee, so that each can be left out in a test.

The names in `FLAGS` are those of the guarantees that `preflight` proves and that the mutation tests drop.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyshot_core.taskserver.tuning import runner_environment
from anyshot_worker.sandbox.interface import (
    INPUT_INSIDE,
    MAX_FILES,
    OPEN_FILES,
    PIXELS_INSIDE,
    SCRATCH_INSIDE,
    TMP_BYTES,
    WEIGHTS_INSIDE,
    BoxSpec,
)

GVISOR_PROCESSES = 400  # its own threads count to the limit
MAX_FILE_BYTES = 8 << 30
NPROC_ROOM = 64  # so that the control group, which knows the box, is what refuses


@dataclass(frozen=True)
class Placement:
    """Where on this machine a box goes: user id, cgroup parent, host folders, filter, cores, runtime."""

    uid: int
    cgroup_parent: str
    input: Path
    shared: Path
    seccomp: str
    cpuset: str = ""
    runtime: str = "runc"
    weights: Path | None = None


Flag = Callable[[BoxSpec, Placement], dict[str, Any]]


def _network(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"NetworkMode": "none"}


def _read_only(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"ReadonlyRootfs": True}


def _capabilities(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"CapDrop": ["ALL"]}


def _no_new_privileges(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"SecurityOpt": ["no-new-privileges"]}


def _seccomp(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"SecurityOpt": [f"seccomp={place.seccomp}"]}


def _memory(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    size = spec.limits.memory_bytes
    return {"Memory": size, "MemorySwap": size}


def _processes(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    limit = spec.limits.processes
    return {"PidsLimit": max(limit, GVISOR_PROCESSES) if place.runtime == "runsc" else limit}


def _cpus(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    cpus = min(spec.limits.cpus, float(os.cpu_count() or 1))
    return {"NanoCpus": round(cpus * 1e9)} | ({"CpusetCpus": place.cpuset} if place.cpuset else {})


def _open_files(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"Ulimits": [_ulimit("nofile", OPEN_FILES)]}


def _file_size(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"Ulimits": [_ulimit("fsize", min(spec.limits.scratch_bytes, MAX_FILE_BYTES))]}


def _core_dumps(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"Ulimits": [_ulimit("core", 0)]}


def _user_processes(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"Ulimits": [_ulimit("nproc", spec.limits.processes + NPROC_ROOM)]}


def _ipc(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"IpcMode": "private", "ShmSize": shared_memory_bytes(spec)}


def _cgroup_namespace(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"CgroupnsMode": "private"}


def _scratch(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {
        "Tmpfs": {
            SCRATCH_INSIDE: tmpfs_options(spec.limits.scratch_bytes, place.uid),
            "/tmp": tmpfs_options(TMP_BYTES, place.uid),
        }
    }


def _log_driver(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    return {"LogConfig": {"Type": "none", "Config": {}}}


FLAGS: dict[str, Flag] = {
    "network": _network,
    "read_only": _read_only,
    "capabilities": _capabilities,
    "no_new_privileges": _no_new_privileges,
    "seccomp": _seccomp,
    "memory": _memory,
    "processes": _processes,
    "cpus": _cpus,
    "open_files": _open_files,
    "file_size": _file_size,
    "core_dumps": _core_dumps,
    "user_processes": _user_processes,
    "ipc": _ipc,
    "cgroup_namespace": _cgroup_namespace,
    "scratch": _scratch,
    "log_driver": _log_driver,
}


def host_config(spec: BoxSpec, place: Placement) -> dict[str, Any]:
    """The `HostConfig` of the Engine API for a box; `spec.without` leaves flags out."""
    config: dict[str, Any] = {
        "Runtime": place.runtime,
        "CgroupParent": place.cgroup_parent,
        "Binds": [
            f"{place.input}:{INPUT_INSIDE}:ro",
            f"{place.shared}:{Path(PIXELS_INSIDE).parent}:ro",
            *([f"{place.weights}:{WEIGHTS_INSIDE}:ro"] if spec.weights and place.weights else []),
        ],
        "RestartPolicy": {"Name": "no"},
        "AutoRemove": False,
        "OomKillDisable": False,
    }
    for name, flag in FLAGS.items():
        if name not in spec.without:
            _merge(config, flag(spec, place))
    if "seccomp" in spec.without:
        _merge(config, {"SecurityOpt": ["seccomp=unconfined"]})
    if spec.gpu_ids:
        _merge(config, gpu_devices(spec.gpu_ids))
    return config


def container_config(spec: BoxSpec, place: Placement, labels: dict[str, str]) -> dict[str, Any]:
    """The body of `POST /containers/create`."""
    user = "0:0" if "user" in spec.without else f"{place.uid}:{place.uid}"
    return {
        "Image": spec.image,
        "Entrypoint": ["python3"],
        "Cmd": list(spec.command),
        "Env": [f"{name}={value}" for name, value in environment(spec).items()],
        "WorkingDir": SCRATCH_INSIDE,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,
        "Tty": False,
        "NetworkDisabled": "network" not in spec.without,
        "Hostname": "sandbox",
        "Labels": labels | spec.labels,
        "User": user,
        "HostConfig": host_config(spec, place),
    }


def environment(spec: BoxSpec) -> dict[str, str]:
    """All that a runner's environment holds, whatever the backend."""
    variables = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "ANYSHOT_SCRATCH": SCRATCH_INSIDE,
        **runner_environment(max(1, math.floor(spec.limits.cpus))),
    }
    # Triton would ask ldconfig, which is not in the image, where NVIDIA's runtime put the driver's library.
    on_gpus = {"CUDA_CACHE_PATH": "/tmp/cuda", "TRITON_LIBCUDA_PATH": "/usr/lib/x86_64-linux-gnu"}
    return variables | (on_gpus if spec.gpu_ids else {})


def gpu_devices(gpu_ids: tuple[str, ...]) -> dict[str, Any]:
    """A request for exactly these devices, by UUID (of a card or a MIG slice) or CDI name; never for all."""
    if any(gpu in ("", "all") for gpu in gpu_ids):
        raise ValueError("a box gets GPUs by their UUID, never all of them")
    by_cdi = [gpu for gpu in gpu_ids if "/" in gpu]
    driver, ids = ("cdi", by_cdi) if by_cdi else ("nvidia", list(gpu_ids))
    request: dict[str, Any] = {"Driver": driver, "DeviceIDs": ids}
    return {
        "DeviceRequests": [request | ({} if by_cdi else {"Capabilities": [["gpu", "compute", "utility"]]})]
    }


def shared_memory_bytes(spec: BoxSpec) -> int:
    """/dev/shm: what data loaders need; more beside a GPU. It counts to the box's memory."""
    return min(spec.limits.memory_bytes // 4, (1 << 30) if spec.gpu_ids else (256 << 20))


def tmpfs_options(size: int, uid: int) -> str:
    """A memory file system of that size, with a limit of files, where nothing can be executed."""
    return f"rw,noexec,nosuid,nodev,size={size},nr_inodes={MAX_FILES},uid={uid},gid={uid},mode=0700"


def _ulimit(name: str, limit: int) -> dict[str, Any]:
    return {"Name": name, "Soft": limit, "Hard": limit}


def _merge(config: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        config[key] = config.get(key, []) + value if isinstance(value, list) else value

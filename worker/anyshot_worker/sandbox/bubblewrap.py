"""The Bubblewrap backend, for machines without a Docker daemon: namespaces, the same system-call filter, control
groups where this user may make them, GPUs as device files. Shown as *reduced*, with what it cannot promise.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from anyshot_core.data.digests import digest_file
from anyshot_core.wire.requirements import PACKAGES_IMAGE
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.images.root import SBOM_INSIDE
from anyshot_worker.sandbox.box_folders import BoxFolders
from anyshot_worker.sandbox.filter import compile_profile
from anyshot_worker.sandbox.flags import MAX_FILE_BYTES, NPROC_ROOM, environment, shared_memory_bytes
from anyshot_worker.sandbox.flavours import CPU, GPU, LABEL, command_to_build
from anyshot_worker.sandbox.gpu_files import gpu_arguments
from anyshot_worker.sandbox.interface import (
    INPUT_INSIDE,
    OPEN_FILES,
    PIXELS_INSIDE,
    SCRATCH_INSIDE,
    TMP_BYTES,
    WEIGHTS_INSIDE,
    BoxSpec,
    ImageInfo,
    SandboxError,
)
from anyshot_worker.sandbox.local_groups import LocalGroup
from anyshot_worker.sandbox.processes import LocalBackend, ProcessBox
from anyshot_worker.sandbox.settings import SandboxSettings
from anyshot_worker.sandbox.slots import take_place

ALWAYS_MISSING = frozenset(
    {"kernel_files", "scratch"}
)  # no masked paths; tmpfs without noexec and file limit
WITHOUT_GROUPS = frozenset({"memory", "cpus", "processes", "counters"})
WITHOUT_ROOT = frozenset({"user"})  # every box has the worker's own user id
LIMIT_PROCESSES = """
import os, resource, sys
most = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


class BubblewrapBackend(LocalBackend):
    """Boxes as process trees in namespaces of their own."""

    name = "bubblewrap"
    images_are_folders = gives_gpus = True

    def __init__(self, settings: SandboxSettings) -> None:
        self.settings = settings

    @property
    def not_promised(self) -> frozenset[str]:
        group = LocalGroup("probe")
        made = group.make(BoxSpec("").limits)
        group.remove()
        missing = ALWAYS_MISSING | (frozenset() if made else WITHOUT_GROUPS)
        missing |= frozenset() if os.geteuid() == 0 else WITHOUT_ROOT
        return missing if _limits_processes() else missing | {"user_processes"}

    def usable(self) -> bool:
        return shutil.which("bwrap") is not None

    def fingerprint(self) -> str:
        asked = subprocess.run(["bwrap", "--version"], capture_output=True, text=True)
        return f"{asked.stdout} {compile_profile().hex()} {os.geteuid()}"

    def prepare(self, image: str) -> ImageInfo:
        """The folder of that digest, else the newest one made by `anyshot worker image build --as-folder`.

        `cpu` and `gpu` are names of what was built for these devices; one with added packages has a name of its own.
        """
        added, command = PACKAGES_IMAGE.fullmatch(image), command_to_build(image)
        folders = image if added else "*" if image.startswith("sha256:") else "root-*"
        roots = sorted(self.settings.images_folder.glob(f"{folders}/{SBOM_INSIDE}"), key=_age)
        if image.startswith("sha256:"):
            roots = [root for root in roots if f"sha256:{digest_file(root)}" == image]
        elif image in (CPU, GPU):
            roots = [root for root in roots if _flavour(root) == image]
        if not roots:
            raise SandboxError(
                f"no image folder on this machine; make it with: {command}{'' if added else ' --as-folder'}",
                Verdict.IMAGE_MISSING,
            )
        root = roots[-1].parents[len(Path(SBOM_INSIDE).parts) - 1]
        return ImageInfo(str(root), f"sha256:{digest_file(roots[-1])}", {LABEL: _flavour(roots[-1])})

    def start(self, spec: BoxSpec) -> ProcessBox:
        """A process tree with the runner as its first process."""
        root = Path(self.prepare(spec.image).name)
        settings = self.settings
        slot, stage = take_place(settings)
        group = LocalGroup(stage.name)
        grouped = group.make(spec.limits) if not {"memory", "processes"} & spec.without else False
        uid = slot.uid if os.geteuid() == 0 else os.geteuid()
        box = ProcessBox(spec, slot, stage, group, uid)
        program = os.memfd_create("filter")
        try:
            os.write(program, compile_profile())
            os.lseek(program, 0, os.SEEK_SET)
            weights = settings.weights_folder if spec.weights else None
            inner = [*_limits(spec, grouped), *bubblewrap_arguments(spec, root, stage, uid, program, weights)]
            box.launch(_enter(group, uid, inner), {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}, (program,))
        except (OSError, SandboxError) as error:
            box.close()
            raise SandboxError(f"Bubblewrap does not start: {error}", Verdict.SANDBOX_START) from error
        finally:
            os.close(program)
        return box


def bubblewrap_arguments(
    spec: BoxSpec, root: Path, stage: BoxFolders, uid: int, program: int, weights: Path | None = None
) -> list[str]:
    """The command line of `bwrap`, the runner's included."""
    command = [
        *("bwrap", "--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1", "--new-session"),
        *("--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev"),
        *("--size", str(shared_memory_bytes(spec)), "--tmpfs", "/dev/shm"),
        *("--size", str(TMP_BYTES), "--tmpfs", "/tmp"),
        *("--size", str(spec.limits.scratch_bytes), "--tmpfs", SCRATCH_INSIDE),
        *("--ro-bind", str(stage.input), INPUT_INSIDE),
        *("--ro-bind", str(stage.shared), str(Path(PIXELS_INSIDE).parent)),
        *(
            "--uid",
            str(uid),
            "--gid",
            str(uid),
            "--hostname",
            "sandbox",
            "--chdir",
            SCRATCH_INSIDE,
            "--clearenv",
        ),
        *("--cap-drop", "ALL"),
    ]
    for name, value in environment(spec).items():
        command += ["--setenv", name, value]
    if spec.gpu_ids:
        command += gpu_arguments(spec.gpu_ids, root)
    if weights is not None:
        (root / WEIGHTS_INSIDE.lstrip("/")).mkdir(exist_ok=True)
        command += ["--ro-bind", str(weights), WEIGHTS_INSIDE]
    if "seccomp" not in spec.without:
        command += ["--seccomp", str(program)]
    if "network" in spec.without:
        command += ["--share-net"]
    return [*command, "--", "/usr/bin/python3", *_limited(spec)]


def _limits(spec: BoxSpec, grouped: bool) -> list[str]:
    """Limits of the process tree; where no control group limits memory, that of private memory of each process."""
    file_bytes = min(spec.limits.scratch_bytes, MAX_FILE_BYTES)
    command = ["prlimit", f"--nofile={OPEN_FILES}", "--core=0", f"--fsize={file_bytes}"]
    return command if grouped else [*command, f"--data={spec.limits.memory_bytes}"]


def _limited(spec: BoxSpec) -> tuple[str, ...]:
    """Arguments of Python that limit the processes, then run the command.

    From inside, because only processes in the box's own user namespace count there: outside, everything else that an
    ordinary user runs would count, and a desktop alone is over the limit.
    """
    if not _limits_processes():
        return spec.command
    return ("-I", "-S", "-c", LIMIT_PROCESSES, str(spec.limits.processes + NPROC_ROOM), *spec.command)


def _limits_processes() -> bool:
    """Whether no process outside a box counts to its limit: a box that root starts has a user id of its own."""
    return os.geteuid() == 0 or counts_by_namespace()


def counts_by_namespace() -> bool:
    """Whether this kernel counts a user's processes in each user namespace by itself."""
    return tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2]) >= (5, 14)


def _enter(group: LocalGroup, uid: int, command: list[str]) -> list[str]:
    """Enter the groups and become the box's user before anything else runs."""
    if os.geteuid() == 0:
        command = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", *command]
    entrances = [str(path) for path in group.entrances()]
    enter = 'while [ "$1" != -- ]; do echo $$ >"$1"; shift; done; shift; exec "$@"'
    return ["/bin/sh", "-c", enter, "enter", *entrances, "--", *command]


def _flavour(bill: Path) -> str:
    """What an image's bill of materials says that it was built for."""
    name: str = json.loads(bill.read_bytes())["metadata"]["component"]["name"]
    return name.rpartition("-")[2]


def _age(path: Path) -> float:
    return path.stat().st_mtime

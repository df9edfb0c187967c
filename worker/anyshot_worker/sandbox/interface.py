"""The sandbox as the worker sees it: a backend starts boxes, and a box is a channel for the task server."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from anyshot_core.taskserver.channel import Channel
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Limits

RUNNER = ("-P", "-m", "anyshot_starting_kit.runner")
OPEN_FILES = 1024
INPUT_INSIDE = "/in/a"
PIXELS_INSIDE = "/in/b/pixels"
SCRATCH_INSIDE = "/work"
WEIGHTS_INSIDE = "/weights"  # as `anyshot_starting_kit.networks.weights` has it
TMP_BYTES = 256 << 20  # /tmp, for code that writes there by its literal name
MAX_FILES = 200_000  # in the scratch space


class SandboxError(Exception):
    """The sandbox failed, not the submission; `verdict` is one of the infrastructure class."""

    def __init__(self, message: str, verdict: Verdict = Verdict.DOCKER_ERROR) -> None:
        super().__init__(message)
        self.verdict = verdict


@dataclass(frozen=True)
class AttemptKey:
    """Whose a box or a device is: one attempt of a run. A run alone will not do, as its next attempt may come here."""

    run_id: str
    epoch: int


@dataclass(frozen=True)
class BoxUsage:
    """What a box has used so far, as the kernel counted it; None where this machine cannot tell.

    Seconds of CPU, bytes at the peak (scratch space included), processes killed for want of memory, most
    processes at once; bytes at this moment, None of a box that is gone, which keeps its other figures.
    """

    cpu_seconds: float = 0.0
    memory_peak_bytes: int | None = None
    out_of_memory_kills: int | None = None
    processes_peak: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class ImageInfo:
    """An image that boxes can be started from: its name, its digest, and the labels that say what is in it."""

    name: str
    digest: str
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BoxSpec:
    """What a box is made of. Nothing here tells who it is for: that comes over the channel."""

    image: str  # a digest, or the name of what is to be started whatever it is by now
    limits: Limits = field(default_factory=Limits)
    command: tuple[str, ...] = RUNNER
    gpu_ids: tuple[str, ...] = ()
    weights: bool = False  # whether the operator's pretrained weights can be read inside
    labels: dict[str, str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()  # flags left out, for the tests that show what each one is for


class Box(Channel, Protocol):
    """One sandbox with one runner inside; it never serves two submissions."""

    @property
    def id(self) -> str:
        """Name of the box on this machine, without meaning inside."""
        ...

    @property
    def spec(self) -> BoxSpec: ...

    def alive(self) -> bool:
        """Whether the runner is still there."""
        ...

    @property
    def uid(self) -> int:
        """The user id of everything inside."""
        ...

    def usage(self) -> BoxUsage: ...

    def when_closed(self, listener: Callable[[], object]) -> None:
        """Call `listener` once the box was closed."""
        ...

    def keeps_logs(self) -> bool:
        """Whether somebody keeps what the box prints, apart from who reads its channel."""
        ...

    def left_behind(self) -> tuple[str, ...]:
        """What is left of the box on this machine: nothing, after `close`."""
        ...


class Backend(Protocol):
    """A way of making boxes."""

    @property
    def name(self) -> str: ...

    @property
    def reduced(self) -> bool:
        """Whether some of the sandbox page's guarantees are missing."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether there is no sandbox at all."""
        ...

    @property
    def not_promised(self) -> frozenset[str]:
        """Names of the guarantees that this backend cannot give."""
        ...

    @property
    def limits_end_box(self) -> bool:
        """Whether reaching a limit ends the whole box instead of refusing what went too far."""
        ...

    @property
    def images_are_folders(self) -> bool:
        """Whether images are made by `anyshot worker image build --as-folder`."""
        ...

    @property
    def gives_gpus(self) -> bool:
        """Whether a box can be given GPUs of this machine."""
        ...

    @property
    def cgroup_driver(self) -> str:
        """Who names the control groups of boxes: `cgroupfs` or `systemd`."""
        ...

    def fingerprint(self) -> str:
        """Changes when the software below does, so that guarantees are proved anew."""
        ...

    def prepare(self, image: str) -> ImageInfo:
        """Check that `image` can be used; raises SandboxError (IMAGE_MISSING) when it cannot."""
        ...

    def start(self, spec: BoxSpec) -> Box:
        """A running box; raises SandboxError (SANDBOX_START, IMAGE_MISSING, DOCKER_ERROR)."""
        ...

    def usable(self) -> bool:
        """Whether a box can be started now."""
        ...

    def end_orphans(self) -> list[str]:
        """End what outlived its worker and is no process of this machine's own; the names of those boxes.

        Raises SandboxError where the daemon that holds them does not answer.
        """
        ...

    def close(self) -> None:
        """Give back what the backend itself holds; its boxes are closed one by one."""
        ...

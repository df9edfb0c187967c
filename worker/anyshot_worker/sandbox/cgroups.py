"""Control groups: all that differs between version 1 and version 2, and between Docker's two cgroup drivers."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from anyshot_worker.sandbox.interface import BoxUsage

ROOT = Path("/sys/fs/cgroup")
V1_CONTROLLERS = (
    "cpu",
    "cpuacct",
    "cpuset",
    "memory",
    "devices",
    "freezer",
    "blkio",
    "pids",
    "systemd",
    "unified",
)
PREFIX = "anyshot"


def version(root: Path = ROOT) -> int:
    """1 or 2; a hybrid machine, whose controllers are all in version 1, counts as 1."""
    return 2 if (root / "cgroup.controllers").exists() else 1


def parent_name(box: str, driver: str) -> str:
    """What Docker wants as `--cgroup-parent` so that a box gets a group of its own."""
    return f"{PREFIX}-{box}.slice" if driver == "systemd" else f"/{PREFIX}/{box}"


@dataclass(frozen=True)
class ControlGroup:
    """The group above one container: it outlives the container, so its counters can be read after death."""

    box: str
    driver: str = "cgroupfs"
    root: Path = ROOT

    def folder(self, controller: str) -> Path:
        """Where this group's files of a controller are."""
        if self.driver == "systemd":
            tail = Path(f"{PREFIX}.slice") / f"{PREFIX}-{self.box}.slice"
        else:
            tail = Path(PREFIX) / self.box
        return self.root / tail if version(self.root) == 2 else self.root / controller / tail

    def usage(self) -> BoxUsage:
        """Counters of everything that ever ran below; fields this kernel does not count are None."""
        return self._usage_v2() if version(self.root) == 2 else self._usage_v1()

    def _usage_v1(self) -> BoxUsage:
        cpu = _number(self.folder("cpuacct") / "cpuacct.usage")
        return BoxUsage(
            cpu_seconds=(cpu or 0) / 1e9,
            memory_peak_bytes=_number(self.folder("memory") / "memory.max_usage_in_bytes"),
            out_of_memory_kills=self._kills_v1(),
            processes_peak=_number(self.folder("pids") / "pids.peak"),
            memory_bytes=_number(self.folder("memory") / "memory.usage_in_bytes"),
        )

    def _kills_v1(self) -> int | None:
        """Version 1 counts a kill in the victim's own group only, so the children are added up while they live."""
        folder = self.folder("memory")
        counts = [_keyed(path, "oom_kill") for path in folder.glob("**/memory.oom_control")]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    def _usage_v2(self) -> BoxUsage:
        folder = self.folder("")
        cpu = _keyed(folder / "cpu.stat", "usage_usec")
        return BoxUsage(
            cpu_seconds=(cpu or 0) / 1e6,
            memory_peak_bytes=_number(folder / "memory.peak"),
            out_of_memory_kills=_keyed(folder / "memory.events", "oom_kill"),
            processes_peak=_number(folder / "pids.peak"),
            memory_bytes=_number(folder / "memory.current"),
        )

    def readable(self) -> bool:
        """Whether this process can see the group at all (a worker in a container may not)."""
        return self.folder("memory").exists()

    def processes(self) -> list[int]:
        """Process ids of everything that still runs below, on the host."""
        folder = self.folder("memory")
        return [int(line) for path in folder.glob("**/cgroup.procs") for line in _lines(path)]

    def remove(self, patience: float = 2.0) -> bool:
        """Remove the group from every controller; True when nothing of it is left."""
        controllers = ("",) if version(self.root) == 2 else V1_CONTROLLERS
        folders = [self.folder(controller) for controller in controllers]
        deadline = time.monotonic() + patience
        while any(not _removed(folder) for folder in folders):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def poll(condition: Callable[[], bool], patience: float) -> bool:
    """Wait until `condition` holds; False when it did not within `patience` seconds."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _removed(folder: Path) -> bool:
    if not folder.exists():
        return True
    for child in sorted(folder.glob("**/*/"), reverse=True):
        with contextlib.suppress(OSError):
            child.rmdir()
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    words = _lines(path)
    return int(words[0]) if words and words[0].isdigit() else None


def _keyed(path: Path, key: str) -> int | None:
    words = _lines(path)
    pairs = dict(zip(words[::2], words[1::2], strict=False))
    return int(pairs[key]) if key in pairs else None

"""Control groups that we make ourselves, where this machine lets us: for boxes without a daemon."""

import contextlib
import time
from pathlib import Path

from anyshot_core.wire.worker_api import Limits
from anyshot_worker.sandbox import cgroups
from anyshot_worker.sandbox.interface import BoxUsage

PERIOD = 100_000  # microseconds


class LocalGroup:
    """A group with limits for one box; every verb says whether it could be done."""

    def __init__(self, box: str, root: Path = cgroups.ROOT) -> None:
        self._group = cgroups.ControlGroup(box, root=root)
        self._two = cgroups.version(root) == 2
        self._made: dict[str, Path] = {}

    def make(self, limits: Limits) -> bool:
        """Create it with the limits in every controller; False, and nothing left, where that is not allowed."""
        try:
            for controller in ("",) if self._two else ("memory", "cpu", "cpuacct", "pids", "freezer"):
                folder = self._group.folder(controller)
                folder.mkdir(parents=True)
                self._made[controller] = folder
            for controller, name, value in self._limits(limits):
                (self._made[controller] / name).write_text(value)
        except OSError:
            self.remove()
            return False
        return True

    def _limits(self, limits: Limits) -> list[tuple[str, str, str]]:
        memory, quota = str(limits.memory_bytes), str(round(limits.cpus * PERIOD))
        if self._two:
            return [
                ("", "memory.max", memory),
                ("", "memory.swap.max", "0"),
                ("", "pids.max", str(limits.processes)),
                ("", "cpu.max", f"{quota} {PERIOD}"),
            ]
        return [
            ("memory", "memory.limit_in_bytes", memory),
            ("memory", "memory.memsw.limit_in_bytes", memory),
            ("pids", "pids.max", str(limits.processes)),
            ("cpu", "cpu.cfs_period_us", str(PERIOD)),
            ("cpu", "cpu.cfs_quota_us", quota),
        ]

    def entrances(self) -> list[Path]:
        """The files into which a process writes its id to enter."""
        return [folder / "cgroup.procs" for folder in self._made.values()]

    @property
    def made(self) -> bool:
        """Whether there is, or was, a group of this box."""
        return bool(self._made)

    def exists(self) -> bool:
        return any(folder.exists() for folder in self._made.values())

    def usage(self) -> BoxUsage:
        return self._group.usage()

    def processes(self) -> list[int]:
        return self._group.processes() if self._made else []

    def freeze(self) -> bool:
        return self._set_frozen(True)

    def thaw(self) -> bool:
        return self._set_frozen(False)

    def remove(self) -> bool:
        """Remove it; True when nothing is left."""
        return self._group.remove() if self._made else True

    def _set_frozen(self, frozen: bool) -> bool:
        folder = self._made.get("" if self._two else "freezer")
        if folder is None:
            return False
        with contextlib.suppress(OSError):
            if self._two:
                (folder / "cgroup.freeze").write_text("1" if frozen else "0")
            else:
                (folder / "freezer.state").write_text("FROZEN" if frozen else "THAWED")
                self._wait_for("FROZEN" if frozen else "THAWED", folder / "freezer.state")
            return True
        return False

    def _wait_for(self, state: str, path: Path) -> None:
        deadline = time.monotonic() + 1.0
        while path.read_text().strip() != state and time.monotonic() < deadline:
            time.sleep(0.001)

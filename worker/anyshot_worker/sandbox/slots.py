"""One user id a living box: limits that the kernel counts by user must not be shared between submissions."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox.box_folders import BoxFolders, new_name, remove_stage
from anyshot_worker.sandbox.interface import SandboxError
from anyshot_worker.sandbox.settings import SandboxSettings


@dataclass
class Slot:
    """A user id that is ours until `release`; the lock goes with the process, however that ends."""

    number: int
    uid: int
    _lock: int

    def assign(self, box: str) -> None:
        """Write down which box the slot is for, before anything of that box exists."""
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, box.encode(), 0)

    def release(self) -> None:
        """Give the user id back; harmless when repeated."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def take_slot(folder: Path, uid_base: int, slots: int) -> Slot:
    """The lowest free slot of this machine, whichever worker asks."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(slots):
        lock = os.open(folder / f"slot-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return Slot(number, uid_base + number, lock)
    raise SandboxError(f"all {slots} slots of this machine are taken", Verdict.SANDBOX_START)


def take_place(settings: SandboxSettings) -> tuple[Slot, BoxFolders]:
    """A slot for one box, locked in the box's name, and the box's folders.

    Raises SandboxError (SANDBOX_START) where there is no place, and keeps nothing then.
    """
    slot = take_slot(settings.state_folder / "slots", settings.uid_base, settings.slots)
    name = new_name()
    try:
        slot.assign(name)
        return slot, BoxFolders(settings.state_folder, settings.shared_folder, name)
    except OSError as error:
        remove_stage(settings.state_folder, settings.shared_folder, name)
        slot.release()
        raise SandboxError(f"the folders of a box cannot be made: {error}", Verdict.SANDBOX_START) from error


def living_boxes(folder: Path) -> set[str]:
    """The boxes whose worker process lives: their slots are locked, and say their names."""
    return {box for path in sorted(folder.glob("slot-*")) if (box := _holder(path))}


def _holder(path: Path) -> str:
    lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.read(lock, 64).decode()
    else:
        return ""
    finally:
        os.close(lock)

"""What a box can see of the host: one folder of packs, one folder with the pixels of the task that is due.

Both have meaningless names and are bound, read-only, before anything is known about the submission, so that a
warm box gets its packs later: hard links made here appear inside.
"""

import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path


class BoxFolders:
    """The host's half of a box's two bind mounts."""

    def __init__(self, state_folder: Path, shared_folder: Path, name: str) -> None:
        self.name = name
        self._state, self._shared = state_folder, shared_folder
        self.input, self.shared = stage_folders(state_folder, shared_folder, self.name)
        for folder in (self.input, self.shared):
            folder.mkdir(parents=True)
            folder.chmod(0o755)
        self.pixels.touch(0o644)
        self.pixels.chmod(0o644)

    @property
    def pixels(self) -> Path:
        """The file that the task server writes and the runner reads."""
        return self.shared / "pixels"

    def offer(self, packs: Sequence[Path]) -> None:
        """Show the packs inside as `0`, `1`, ...: hard links, or copies from another file system."""
        for number, pack in enumerate(packs):
            target = self.input / str(number)
            try:
                target.hardlink_to(pack.resolve())
            except OSError:
                shutil.copyfile(pack, target)
            if not target.stat().st_mode & 0o004:
                target.chmod(0o444)

    def remove(self) -> None:
        """Take everything away; harmless when repeated."""
        remove_stage(self._state, self._shared, self.name)


def new_name() -> str:
    """A name without meaning; a slot has to carry it before anything of the box exists."""
    return secrets.token_hex(6)


def stage_folders(state_folder: Path, shared_folder: Path, name: str) -> tuple[Path, Path]:
    """Where the input and the pixels of the box `name` lie on the host."""
    return state_folder / "boxes" / name, shared_folder / f"anyshot-{name}"


def remove_stage(state_folder: Path, shared_folder: Path, name: str) -> None:
    """What a janitor does for a box whose worker died."""
    for folder in stage_folders(state_folder, shared_folder, name):
        shutil.rmtree(folder, ignore_errors=True)

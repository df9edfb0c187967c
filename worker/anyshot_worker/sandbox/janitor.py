"""Ends what no living worker owns: containers by label, groups, folders and buffers by name.

A box belongs to a living worker as long as its slot is locked in that box's name; locks go with the process,
however it ended, so nothing here asks for process ids.
"""

from dataclasses import dataclass, field

from anyshot_worker.sandbox import cgroups
from anyshot_worker.sandbox.box_folders import remove_stage
from anyshot_worker.sandbox.interface import Backend
from anyshot_worker.sandbox.processes import LocalBackend
from anyshot_worker.sandbox.settings import SandboxSettings
from anyshot_worker.sandbox.slots import living_boxes


@dataclass
class Swept:
    """What was found without an owner, by kind, and ended."""

    containers: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


def sweep(settings: SandboxSettings, backend: Backend | LocalBackend) -> Swept:
    """End every box of this owner on this machine whose worker is gone.

    Raises SandboxError where the backend's daemon does not answer.
    """
    swept = Swept(backend.end_orphans())
    found = _folders(settings)  # before the locks are read: a box locks its slot before it exists
    for name in sorted(found - living_boxes(settings.state_folder / "slots")):
        remove_stage(settings.state_folder, settings.shared_folder, name)
        swept.folders.append(name)
        if cgroups.ControlGroup(name, backend.cgroup_driver).remove(0.5):
            swept.groups.append(name)
    return swept


def _folders(settings: SandboxSettings) -> set[str]:
    inputs = settings.state_folder / "boxes"
    return {path.name for path in inputs.iterdir()} if inputs.is_dir() else set()

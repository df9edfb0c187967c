"""Where a box is made: a slot of this machine, locked in the box's name, and the box's folders."""

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox.box_folders import BoxFolders, new_name, remove_stage
from anyshot_worker.sandbox.interface import SandboxError
from anyshot_worker.sandbox.settings import SandboxSettings
from anyshot_worker.sandbox.slots import Slot, take_slot


def take_place(settings: SandboxSettings) -> tuple[Slot, BoxFolders]:
    """A place for one box. Raises SandboxError (SANDBOX_START) where there is none, and keeps nothing then."""
    slot = take_slot(settings.state_folder / "slots", settings.uid_base, settings.slots)
    name = new_name()
    try:
        slot.assign(name)
        return slot, BoxFolders(settings.state_folder, settings.shared_folder, name)
    except OSError as error:
        remove_stage(settings.state_folder, settings.shared_folder, name)
        slot.release()
        raise SandboxError(f"the folders of a box cannot be made: {error}", Verdict.SANDBOX_START) from error

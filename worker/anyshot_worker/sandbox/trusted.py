"""No sandbox: a child process of the worker. Only for code that the operator wrote, and only when the settings say so
in so many words; every page of the platform then shows a banner.
"""

import os
import sys
import tempfile
from pathlib import Path

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.images.own_packages import python_path
from anyshot_worker.sandbox.flags import environment
from anyshot_worker.sandbox.flavours import labels_of_this_python
from anyshot_worker.sandbox.guarantees import GUARANTEES
from anyshot_worker.sandbox.interface import BoxSpec, ImageInfo, SandboxError
from anyshot_worker.sandbox.local_groups import LocalGroup
from anyshot_worker.sandbox.processes import LocalBackend, ProcessBox
from anyshot_worker.sandbox.settings import SandboxSettings
from anyshot_worker.sandbox.slots import take_place


class TrustedBackend(LocalBackend):
    """Boxes as plain processes with this machine's Python."""

    name = "trusted"
    trusted = gives_gpus = True
    not_promised = frozenset(guarantee.name for guarantee in GUARANTEES)

    def __init__(self, settings: SandboxSettings) -> None:
        if not settings.trust_all_submissions:
            raise SandboxError(
                "code runs without a sandbox only with ANYSHOT_TRUST_ALL_SUBMISSIONS=true",
                Verdict.SANDBOX_START,
            )
        self.settings = settings

    def fingerprint(self) -> str:
        return sys.version

    def prepare(self, image: str) -> ImageInfo:
        return ImageInfo("this machine's Python", f"python-{sys.version.split()[0]}", labels_of_this_python())

    def start(self, spec: BoxSpec) -> ProcessBox:
        """A process with a scratch folder of its own."""
        settings = self.settings
        slot, stage = take_place(settings)
        scratch = Path(tempfile.mkdtemp(prefix="anyshot-trusted-"))
        box = ProcessBox(spec, slot, stage, LocalGroup(stage.name), os.geteuid(), scratch)
        variables = environment(spec) | {
            "PATH": os.defpath,
            "CUDA_VISIBLE_DEVICES": ",".join(spec.gpu_ids),  # and no other run's
            "ANYSHOT_SCRATCH": str(scratch),
            "PYTHONPATH": python_path(),
        }
        try:
            box.launch([sys.executable, *spec.command], variables)
        except BaseException:
            box.close()
            raise
        return box

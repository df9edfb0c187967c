"""What a worker announces about itself."""

from __future__ import annotations

import os
from importlib.metadata import version

import psutil

from anyshot_starting_kit.wire.worker_api import WorkerInfo
from anyshot_worker.sandbox import Sandboxes


def announce(name: str, hardware_class: str, sandboxes: Sandboxes) -> WorkerInfo:
    """The message that goes with every claim; the packs in the cache are filled in then."""
    return WorkerInfo(
        name=name,
        hardware_class=hardware_class,
        release=version("anyshot-worker"),
        cores=os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        gpus=sandboxes.gpu_names(),
        images=sandboxes.image_names(),
        sandbox=sandboxes.name,
        sandbox_reduced=sandboxes.reduced,
    )

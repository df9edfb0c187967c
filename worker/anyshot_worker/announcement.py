"""What a worker announces about itself."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import psutil

from anyshot_core.wire.worker_api import API_VERSION, WorkerInfo
from anyshot_worker.sandbox import Sandboxes


def announce(name: str, hardware_class: str, sandboxes: Sandboxes) -> WorkerInfo:
    """The message that goes with every claim; the packs in the cache are filled in then."""
    return WorkerInfo(
        version=API_VERSION,
        name=name,
        hardware_class=hardware_class,
        release=version("anyshot-worker"),
        cores=os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        gpus=sandboxes.gpu_names(),
        images=sandboxes.image_names(),
        image_digests=sandboxes.image_digests(),
        cpu_images=sandboxes.cpu_images(),
        sandbox=sandboxes.name,
        sandbox_reduced=sandboxes.reduced,
        analyses=find_spec("torch") is not None,  # a worker's image may do without it
    )


def processor_name(information: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name as Linux knows it, else the kind of machine, for a run's provenance."""
    try:
        lines = information.read_text(errors="replace").splitlines()
    except OSError:
        return f"CPU, {platform.machine()}"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next((name for name in names if name), f"CPU, {platform.machine()}")[:200]

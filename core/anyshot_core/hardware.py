"""What this machine is called."""

import platform
from pathlib import Path


def processor_name(information: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name as Linux knows it, else the kind of machine, for a run's provenance."""
    try:
        lines = information.read_text(errors="replace").splitlines()
    except OSError:
        return f"CPU, {platform.machine()}"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next((name for name in names if name), f"CPU, {platform.machine()}")[:200]

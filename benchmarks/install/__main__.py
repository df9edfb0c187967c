"""`python -m benchmarks.install`: seconds and bytes of the starting kit in an empty environment, from a running site.

Everything else comes from the index that pip is set up for; `--twice` fills pip's cache by a first environment, so
that the second shows what is not the line's doing. CPU seconds beside the wall clock say how busy the machine was.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

from anyshot_platform.app import create_app, make_services
from anyshot_platform.contest.kit.wheels import kit_version
from anyshot_platform.foundation.migration import migrate
from benchmarks.figures import Figure, figure, keep
from tests.packages.empty import Empty
from tests.platform.conftest import make_settings
from tests.services.processes import free_port
from tests.services.sites import served

SECONDS, MEGABYTES = 30, 150


def main() -> None:
    """Measure and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--twice", action="store_true", help="install once before, so that pip has all it fetches"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = make_settings(folder)
        services = make_services(settings)
        migrate(services.database)
        with served(create_app(settings, services), free_port()) as address:
            if options.twice:
                install(address, folder / "first")
            figures = install(address, folder / "measured")
    keep("install", figures, "an empty environment with pip; everything but the kit from the usual index")


def install(address: str, folder: Path) -> list[Figure]:
    """Install into a new environment; its time, its size, and the time to a first check."""
    kit = Empty.make(folder)
    began, used = time.perf_counter(), cpu_seconds()
    asked = f"anyshot-starting-kit=={kit_version()}"
    kit.install("--extra-index-url", f"{address}/kit/simple/", asked, pip=True)
    installed = time.perf_counter() - began
    busy = cpu_seconds() - used
    for words in (("init", "mine"), ("check", "mine")):
        assert kit("anyshot", *words).returncode == 0, words
    ready = time.perf_counter() - began
    size = kit.size() / 1e6
    return [
        figure("install the kit", installed, "s", f"<= {SECONDS}", installed <= SECONDS),
        figure("CPU time of the installation", busy, "s"),
        figure("install, init, check", ready, "s"),
        figure("what is installed", size, "MB", f"<= {MEGABYTES}", size <= MEGABYTES),
    ]


def cpu_seconds() -> float:
    """What the processes that this one started and waited for have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()

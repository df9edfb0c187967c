"""Fixtures that every part of the suite may use; the real servers come from `tests.services`."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from anyshot_core.taskserver.tuning import TUNING

gc.disable()  # until all is collected: nothing of it goes, and looking for what does takes a seventh of that time

# Before anything brings OpenMP: the suite shares its cores with the servers and workers that it starts.
os.environ.update({**TUNING, **os.environ})

# Started by `make test`, a test's own `make` would count as a part of it: its ARGS, and more lines printed.
for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "ARGS"):
    os.environ.pop(name, None)

# The same examples each time, however slow the machine; `--hypothesis-profile default` looks for new ones.
settings.register_profile(
    "suite", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

pytest_plugins = [
    "tests.services.databases",
    "tests.services.containers",
    "tests.services.browsers",
    "tests.services.material",
    "tests.services.rotation",
    "tests.services.parallel",
    "tests.services.reasons",
    "tests.services.warm_runner",
    "tests.worker.sandbox.machine",
]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What is imported by now stays; the rest is looked through seldom, which took a tenth of the tests of a site."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    gc.enable()


def pytest_unconfigure() -> None:
    """Extensions that count what they leave behind find it collected."""
    gc.unfreeze()

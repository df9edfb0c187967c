"""Fixtures that every part of the suite may use; the real servers come from `tests.services`."""

import os

from anyshot_starting_kit.taskserver.tuning import TUNING

# Before anything brings OpenMP: the suite shares its cores with the servers and workers that it starts.
os.environ.update({**TUNING, **os.environ})

pytest_plugins = [
    "tests.services.databases",
    "tests.services.containers",
    "tests.services.browsers",
    "tests.services.material",
    "tests.services.rotation",
    "tests.worker.sandbox.machine",
]

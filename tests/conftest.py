"""Fixtures that every part of the suite may use; the real servers come from `tests.services`."""

pytest_plugins = [
    "tests.services.databases",
    "tests.services.containers",
    "tests.services.browsers",
    "tests.services.material",
    "tests.services.rotation",
    "tests.worker.sandbox.machine",
]

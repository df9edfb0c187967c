"""How a run is cut between the processes of pytest-xdist, and which tests the quick run leaves out.

A file's tests stay together, so that what they share is made once. Long lists of cases that share nothing but what a
process has anyway go one by one; files that act on the whole machine stay in one process, one after the other.
"""

from typing import Any

import pytest

ONE_BY_ONE = (
    "tests/hostile/test_suite.py",
    "tests/baselines/test_bundles.py",
    "tests/analysis/test_jobs.py",
    "tests/mutants/test_slice.py",
)
FIRST = ("tests/platform/core/test_chaos.py", "tests/hostile", "tests/end_to_end", "tests/baselines")

# A test that takes one of these fixtures has the mark, and `make test-fast` leaves it out.
MARKS = {
    "docker_daemon": "docker",
    "bubblewrap": "docker",
    "browser_session": "browser",
    "hostile_sandboxes": "docker",
}


def share_of(nodeid: str) -> str:
    """What a test is kept together with."""
    path = path_of(nodeid)
    return nodeid if path in ONE_BY_ONE else path


def path_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def place_of(path: str, long: set[str]) -> int:
    """The long ones first, so that no process is left with one of them at the end."""
    return next(
        (place for place, start in enumerate(FIRST) if path.startswith(start)),
        len(FIRST) + (path not in long),
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test by what it takes, before `-m` chooses."""
    for name in {MARKS[name] for name in getattr(item, "fixturenames", ()) if name in MARKS}:
        item.add_marker(name)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of the long ones first."""
    long = {path_of(item.nodeid) for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: place_of(path_of(item.nodeid), long))


class Together:
    """Loaded where pytest-xdist is: its scheduler cuts the run as `share_of` says."""

    @staticmethod
    def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
        from xdist.scheduler import LoadScopeScheduling

        class BySharing(LoadScopeScheduling):
            def _split_scope(self, nodeid: str) -> str:
                return share_of(nodeid)

        return BySharing(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Cut the run in our own way, in the order of collection."""
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Together())
        config.option.loadscopereorder = False

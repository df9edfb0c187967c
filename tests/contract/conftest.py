"""A stage for each test; the trusted sandbox is opened once."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anyshot_platform.foundation.services import Services
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from tests.contract.recording import Recorder, put, write
from tests.contract.stage import Stage
from tests.platform.conftest import (  # noqa: F401 - fixtures
    database_kind,
    databases,
    kept_databases,
    kept_engines,
    migrated_postgres,
    migrated_sqlite,
    services,
    site,
)


@pytest.fixture(scope="session")
def trusted_sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    """Boxes that are plain child processes."""
    settings = SandboxSettings(
        sandbox="trusted",
        trust_all_submissions=True,
        state_folder=tmp_path_factory.mktemp("state"),
        pool_size=0,
    )
    made = Sandboxes.from_settings(settings)
    yield made
    made.close()


@pytest.fixture(scope="session")
def heard() -> Iterator[dict[str, Any]]:
    """All that was said in this session; `make record` keeps it."""
    messages: dict[str, Any] = {}
    yield messages
    if "ANYSHOT_RECORD" in os.environ:
        write(messages)


@pytest.fixture
def stage(
    heard: dict[str, Any],
    services: Services,  # noqa: F811
    demo_packs: dict[str, Path],
    trusted_sandboxes: Sandboxes,
    tmp_path: Path,
) -> Iterator[Stage]:
    """A site with real datasets and a phase of six tasks; what is said there has to be what was recorded."""
    recorder = Recorder()
    with Stage(services, demo_packs, trusted_sandboxes, tmp_path, recorder) as made:
        yield made
    for name, message in recorder.heard.items():
        put(heard, name, message)
    if "ANYSHOT_RECORD" not in os.environ:
        assert not recorder.problems, f"{recorder.problems}: if this is meant, `make record`"

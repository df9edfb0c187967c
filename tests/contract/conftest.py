"""A stage for each test; the trusted sandbox is opened once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anyshot_platform.services import Services
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from tests.contract.stage import Stage
from tests.platform.conftest import (  # noqa: F401 - fixtures
    database_kind,
    databases,
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


@pytest.fixture
def stage(
    services: Services,  # noqa: F811
    demo_packs: dict[str, Path],
    trusted_sandboxes: Sandboxes,
    tmp_path: Path,
) -> Iterator[Stage]:
    """A site with real datasets and a phase of six tasks."""
    with Stage(services, demo_packs, trusted_sandboxes, tmp_path) as made:
        yield made

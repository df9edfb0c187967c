"""One image, one set of sandboxes and one pool of data for the whole suite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from anyshot_worker.sandbox import Sandboxes
from anyshot_worker.sandbox.docker import REPOSITORY
from tests.hostile.bench import Data, Seen, evaluate, make_data
from tests.hostile.cases import Expected
from tests.services.containers import why_no_gvisor
from tests.worker.sandbox.machine import sandbox_settings

HONEST = Expected(number=0, attack="none", verdict=["OK"])  # type: ignore[list-item]


@pytest.fixture(scope="session", params=["runc", pytest.param("runsc", marks=pytest.mark.rotating(2))])
def hostile_sandboxes(
    request: pytest.FixtureRequest, sandbox_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandboxes]:
    """Docker boxes under runc and, where the daemon has it, under gVisor, of whose slower runs CI takes a quarter."""
    if request.param == "runsc" and (reason := why_no_gvisor(f"{REPOSITORY}:{sandbox_image}")):
        pytest.skip(reason)
    settings = sandbox_settings(tmp_path_factory.mktemp("hostile"), runtime=request.param)
    sandboxes = Sandboxes.from_settings(settings)
    yield sandboxes
    sandboxes.close()


@pytest.fixture(scope="session")
def hostile_data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return make_data(tmp_path_factory.mktemp("hostile-data"))


@pytest.fixture(scope="session")
def honest_reference(
    hostile_sandboxes: Sandboxes, hostile_data: Data, tmp_path_factory: pytest.TempPathFactory
) -> Seen:
    """What the honest submission gets before anybody attacked."""
    return evaluate(hostile_sandboxes, hostile_data, None, HONEST, tmp_path_factory.mktemp("honest"))


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path

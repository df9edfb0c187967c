"""A list of packages on its whole way: from a phase to a worker's machine, and back as its image."""

import pytest
from click.testing import CliRunner

from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_worker.claiming import announce
from anyshot_worker.cli import worker
from anyshot_worker.client import WorkerClient
from anyshot_worker.sandbox import Sandboxes
from anyshot_worker.sandbox.bubblewrap import BubblewrapBackend
from tests.contract.test_joining import address  # noqa: F401 - a fixture
from tests.platform.admin.test_pinned_image import act, set_packages
from tests.platform.site import SLUG, Site
from tests.platform.web.test_sandbox import found_of
from tests.worker.sandbox.test_additions import LIST, NAME, extended, wheels  # noqa: F401 - fixtures
from tests.worker.sandbox.test_bubblewrap import bubblewrap  # noqa: F401 - a fixture

MODEL = b"import shotgrid\nclass MyMetaLearner: pass\nclass MyLearner: pass\n"


def asked(*words: str, status: int = 0) -> str:
    """What `anyshot worker image asked` says."""
    done = CliRunner().invoke(worker, ["image", "asked", *words], catch_exceptions=False)
    assert done.exit_code == status, done.output
    return done.output


@pytest.mark.slow("builds a folder and proves the sandbox in it")
def test_what_a_phase_asks_for_is_listed_and_built_on_a_workers_machine(
    site: Site,
    address: str,  # noqa: F811
    extended: BubblewrapBackend,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with site.services.database.writing() as session:
        token = create_worker_token(session, "rack")
    monkeypatch.setenv("ANYSHOT_PLATFORM_URL", address)
    monkeypatch.setenv("ANYSHOT_WORKER_TOKEN", token)
    assert asked() == "No phase of the class cpu asks for packages.\n"
    owner, pia = site.owner(), site.member("pia")
    conflicting = set_packages(owner, "oldgrid==1.0")["image"]
    refused = asked("--build", status=1)
    assert (
        "not built: the packages cannot be added: oldgrid 1.0 depends on numpy<2; the image has numpy"
        in refused
    )
    assert f"to tell it: anyshot administer do image.off {conflicting} --reason TEXT\n" in refused
    set_packages(owner, LIST[0])
    listed = f"{NAME} for {SLUG}/feedback, offered by %s: {LIST[0]}\n"
    assert asked() == listed % "nobody"
    built = asked("--build")
    assert f"proved: {NAME} is {extended.prepare(NAME).digest}\n" in built

    settings = extended.settings.model_copy(update={"sandbox_images": ("cpu", NAME)})
    sandboxes, client = Sandboxes(BubblewrapBackend(settings), settings), WorkerClient(address, token)
    try:
        assert client.claim(announce("rack", "cpu", sandboxes)) is None
    finally:
        sandboxes.close()
        client.close()
    assert asked() == listed % "rack"
    shown = {one["image"]: one["inventory"]["packages"] for one in site.client.get("/api/v1/sandbox").json()}
    assert "shotgrid" in {one["name"] for one in shown[NAME]} - {one["name"] for one in shown["cpu"]}
    assert found_of(pia, "imports", MODEL) == []
    act(owner, "pin-image")
    settings_now = owner.call("GET", f"/api/v1/competitions/{SLUG}/manage/phases/feedback").json()["settings"]
    assert settings_now["machine"]["image_digest"] == extended.prepare(NAME).digest

"""All boxes of a worker process: which backend, which images, whose boxes end when."""

from pathlib import Path

import pytest

from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import Limits
from anyshot_worker.claiming import announce
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.interface import AttemptKey, SandboxError
from anyshot_worker.sandbox.sandboxes import choose_backend
from tests.services.processes import wait_until
from tests.worker.sandbox.fake import FakeBackend, FakeBox
from tests.worker.sandbox.machine import nobody_answers, sandbox_settings


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def sandboxes(backend: FakeBackend, tmp_path: Path) -> Sandboxes:
    return Sandboxes(backend, sandbox_settings(tmp_path))


def test_only_offered_images_are_started(sandboxes: Sandboxes) -> None:
    with pytest.raises(SandboxError, match="not one that this worker offers") as caught:
        sandboxes.open("evil", Limits(), "r", 1)
    assert caught.value.verdict is Verdict.BAD_IMAGE
    assert caught.value.verdict.cause is Cause.ORGANIZER
    assert sandboxes.open(None, Limits(), "r", 1).image.name == "cpu"


def test_the_usual_image_is_offered_whether_or_not_it_stands_among_those_that_phases_name(
    tmp_path: Path,
) -> None:
    """`ANYSHOT_SANDBOX_IMAGE=gpu` alone is enough."""
    settings = sandbox_settings(tmp_path).model_copy(update={"sandbox_image": "gpu"})
    sandboxes = Sandboxes(FakeBackend(), settings)
    assert announce("one", "cpu", sandboxes).images == ["gpu", "cpu"]
    for named in (None, "gpu"):
        assert sandboxes.open(named, Limits(), "run", 1).image.name == "gpu"


def test_what_is_recorded_of_an_image_is_what_the_box_was_made_of(
    backend: FakeBackend, tmp_path: Path
) -> None:
    """A name that means another image meanwhile opens no box that is warm already."""
    backend.digests["cpu"] = "sha256:old"
    sandboxes = Sandboxes(backend, sandbox_settings(tmp_path, pool_size=1))
    try:
        wait_until(lambda: len(backend.started) == 1, "a warm box", 20)
        backend.digests["cpu"] = "sha256:new"
        opened = sandboxes.open(None, Limits(), "run", 1)
        assert isinstance(opened.box, FakeBox)
        assert (opened.image.digest, opened.box.spec.image) == ("sha256:new", "sha256:new")
    finally:
        sandboxes.close()


def test_a_pinned_run_gets_the_image_of_that_digest_or_none(backend: FakeBackend, tmp_path: Path) -> None:
    """The name has come to mean another image; the pinned one is here under the name that it has now."""
    old, new = "sha256:" + "0" * 64, "sha256:" + "1" * 64
    backend.digests |= {"cpu": new, "before": old, "private": "sha256:" + "2" * 64}
    settings = sandbox_settings(tmp_path).model_copy(update={"sandbox_images": ("cpu", "before")})
    sandboxes = Sandboxes(backend, settings)
    assert sandboxes.image_digests() == {"": new, "cpu": new, "before": old}
    opened = sandboxes.open("cpu", Limits(), "run", 1, digest=old)
    assert isinstance(opened.box, FakeBox)
    assert (opened.image.digest, opened.box.spec.image) == (old, old)
    for other in ("sha256:" + "2" * 64, "sha256:" + "3" * 64):  # not offered, not here
        with pytest.raises(SandboxError, match="none of the images before, cpu is sha256:") as caught:
            sandboxes.open("cpu", Limits(), "run", 1, digest=other)
        assert caught.value.verdict is Verdict.IMAGE_MISSING


@pytest.mark.parametrize("ended", [AttemptKey("gone", 2), AttemptKey("kept", 1)])
def test_boxes_of_attempts_that_are_not_live_end(sandboxes: Sandboxes, ended: AttemptKey) -> None:
    """Also those of an earlier attempt of a run that lives."""
    kept = sandboxes.open(None, Limits(), "kept", 2)
    gone = sandboxes.open(None, Limits(), ended.run_id, ended.epoch)
    sandboxes.retain_only({AttemptKey("kept", 2)})
    assert isinstance(kept.box, FakeBox)
    assert isinstance(gone.box, FakeBox)
    assert (kept.box.closed, gone.box.closed) == (False, True)


def test_outer_limit_is_enforced_by_the_janitor(sandboxes: Sandboxes) -> None:
    late, early = (
        sandboxes.open(None, Limits(), "late", 1, seconds=-100),
        sandboxes.open(None, Limits(), "r", 1, seconds=9),
    )
    sandboxes.sweep()
    assert isinstance(late.box, FakeBox)
    assert isinstance(early.box, FakeBox)
    assert (late.box.closed, early.box.closed) == (True, False)


def test_close_ends_every_box(sandboxes: Sandboxes, backend: FakeBackend) -> None:
    for number in range(3):
        sandboxes.open(None, Limits(), f"r{number}", 1)
    sandboxes.close()
    assert [box.closed for box in backend.started] == [True] * 3


def test_closing_the_channel_is_closing_the_box(sandboxes: Sandboxes) -> None:
    opened = sandboxes.open(None, Limits(), "r", 1)
    opened.channel.close()
    opened.close()
    sandboxes.retain_only(set())


def test_no_sandbox_needs_the_operators_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with nobody_answers(), pytest.raises(SandboxError, match="ANYSHOT_TRUST_ALL_SUBMISSIONS"):
        choose_backend(SandboxSettings(sandbox="auto", docker_host=f"unix://{tmp_path}/no-daemon.sock"))
    with pytest.raises(SandboxError, match="ANYSHOT_TRUST_ALL_SUBMISSIONS"):
        choose_backend(SandboxSettings(sandbox="trusted"))
    with nobody_answers(), pytest.raises(SandboxError, match="ANYSHOT_SANDBOX=trusted"):
        choose_backend(
            SandboxSettings(trust_all_submissions=True, docker_host=f"unix://{tmp_path}/no-daemon.sock")
        )  # a daemon that is away for a moment takes no sandbox away
    backend = choose_backend(SandboxSettings(sandbox="trusted", trust_all_submissions=True))
    assert backend.name == "trusted"
    assert backend.reduced


def test_named_backend_is_not_replaced_by_a_weaker_one(tmp_path: Path) -> None:
    daemon = f"unix://{tmp_path}/no-daemon.sock"
    settings = SandboxSettings(sandbox="docker", state_folder=tmp_path, docker_host=daemon)
    with nobody_answers(), pytest.raises(SandboxError, match="does not answer"):
        Sandboxes.from_settings(settings)


def test_a_daemon_that_does_not_answer_makes_the_boxes_unusable(tmp_path: Path) -> None:
    settings = sandbox_settings(tmp_path).model_copy(update={"docker_host": f"unix://{tmp_path}/nobody.sock"})
    with nobody_answers():
        assert not Sandboxes(DockerBackend(settings), settings).usable()


def test_boxes_without_a_daemon_are_always_usable(sandboxes: Sandboxes) -> None:
    assert sandboxes.usable()

"""What a box takes of the machine is given back when it cannot start, and when it does not end."""

import subprocess
from pathlib import Path

import pytest

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox.interface import BoxSpec, SandboxError
from anyshot_worker.sandbox.slots import living_boxes, take_place
from anyshot_worker.sandbox.trusted import TrustedBackend
from tests.worker.sandbox.machine import sandbox_settings


def test_a_place_whose_folders_cannot_be_made_is_free_again(tmp_path: Path) -> None:
    """A full disk."""
    (tmp_path / "full").touch()
    good = sandbox_settings(tmp_path / "state").model_copy(update={"slots": 1, "shared_folder": tmp_path})
    with pytest.raises(SandboxError, match="folders of a box cannot be made") as caught:
        take_place(good.model_copy(update={"shared_folder": tmp_path / "full"}))
    assert caught.value.verdict is Verdict.SANDBOX_START
    assert not list((tmp_path / "state" / "boxes").iterdir())
    slot, stage = take_place(good)
    assert living_boxes(tmp_path / "state" / "slots") == {stage.name}
    slot.release()


def test_a_process_that_cannot_be_killed_ends_no_janitor_and_keeps_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hangs in the kernel: whoever waits for it forever does nothing else, and its limits are its user's."""
    settings = sandbox_settings(tmp_path / "state").model_copy(update={"trust_all_submissions": True})
    box = TrustedBackend(settings).start(BoxSpec("", command=("-c", "import time; time.sleep(3600)")))
    process = box._process  # pyright: ignore[reportPrivateUsage]
    assert process is not None
    told: list[str] = []
    box.when_closed(lambda: told.append("closed"))

    def hangs(seconds: float | None = None) -> int:
        raise subprocess.TimeoutExpired("python", seconds or 0.0)

    with monkeypatch.context() as context:
        context.setattr(process, "wait", hangs)
        context.setattr(process, "poll", lambda: None)
        box.close()
    process.wait(60)
    assert told == ["closed"]
    assert living_boxes(tmp_path / "state" / "slots") == {box.id}

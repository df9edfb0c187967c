"""A dry run in a sandbox builds the image that it lacks, and says so."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker import dry_run
from anyshot_worker.sandbox import SandboxError, SandboxSettings
from anyshot_worker.sandbox.bubblewrap import BubblewrapBackend


@pytest.fixture
def settings(tmp_path: Path) -> SandboxSettings:
    return SandboxSettings(sandbox="bubblewrap", state_folder=tmp_path, images_folder=tmp_path / "images")


def test_a_missing_image_is_built_and_kept_up_to_date(
    settings: SandboxSettings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built: list[Path] = []

    def build(flavour: str, folder: Path, wheelhouse: str, say: Any) -> Path:
        assert flavour == "cpu"
        bill = folder / "root-made" / dry_run_bill()
        bill.parent.mkdir(parents=True, exist_ok=True)
        bill.write_text('{"metadata": {"component": {"name": "anyshot-sandbox-cpu"}}}')
        say("root of made")
        built.append(folder)
        return folder

    monkeypatch.setattr(dry_run, "build_folder", build)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    for _ in range(2):
        dry_run.provide_image(BubblewrapBackend(settings), settings)
        said = capsys.readouterr()
        assert said.out == ""  # which may be JSON
        # The second time it is only brought up to date, in silence.
        assert ("anyshot worker image build --as-folder" in said.err) == (len(built) == 1)
        assert ("root of made" in said.err) == (len(built) == 1)
    assert built == [settings.images_folder] * 2


def dry_run_bill() -> str:
    """Where an image folder has its bill of materials, by which it is known."""
    from anyshot_worker.images.root import SBOM_INSIDE

    return SBOM_INSIDE


def test_without_bubblewrap_nothing_is_built(
    settings: SandboxSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SandboxError, match="not installed") as caught:
        dry_run.provide_image(BubblewrapBackend(settings), settings)
    assert caught.value.verdict == Verdict.SANDBOX_START

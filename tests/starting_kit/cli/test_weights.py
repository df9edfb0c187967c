"""Pretrained weights by name, digest and licence: added here, found by a dry run."""

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from anyshot_core.command import main
from anyshot_core.taskserver.child import ChildChannel
from anyshot_starting_kit.dryrun.evaluate import channel_opener

CONTENT = b"a state dict"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ANYSHOT_WEIGHTS_FOLDER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "resnet18.pt").write_bytes(CONTENT)
    return tmp_path / "data" / "anyshot" / "weights"


def weights(*words: str) -> Result:
    return CliRunner().invoke(main, ["weights", *words])


def add(tmp_path: Path, *words: str) -> Result:
    return weights("add", str(tmp_path / "resnet18.pt"), "--licence", "BSD-3-Clause", *words)


def test_weights_are_added_listed_and_shown(folder: Path, tmp_path: Path) -> None:
    added = add(tmp_path, "--source", "torchvision")
    assert added.exit_code == 0 and DIGEST in added.output
    assert (folder / "resnet18.pt").read_bytes() == CONTENT
    (row,) = json.loads(weights("list", "--json").output)
    assert row == {
        "name": "resnet18.pt",
        "digest": DIGEST,
        "size": len(CONTENT),
        "licence": "BSD-3-Clause",
        "source": "torchvision",
    }
    shown = weights("show", "resnet18.pt")
    assert shown.exit_code == 0 and DIGEST in shown.output and "BSD-3-Clause" in shown.output
    assert add(tmp_path, "--name", "other.pt").exit_code == 0
    assert len(weights("list").output.splitlines()) == 2
    listed = json.loads(weights("list", "--json").output)
    assert [(one["name"], one["licence"]) for one in listed] == [
        ("other.pt", "BSD-3-Clause"),
        ("resnet18.pt", "BSD-3-Clause"),
    ]


def test_other_bytes_under_a_known_name_are_refused_and_seen(folder: Path, tmp_path: Path) -> None:
    add(tmp_path)
    (tmp_path / "resnet18.pt").write_bytes(b"other")
    again = add(tmp_path)
    assert again.exit_code == 1 and "with other bytes" in again.output
    (folder / "resnet18.pt").write_bytes(b"changed")
    shown = weights("show", "resnet18.pt")
    assert shown.exit_code == 1 and "others than were added" in shown.output
    (listed,) = json.loads(weights("list", "--json").output)  # whose licence they have, nobody said
    assert (listed["digest"], listed["licence"]) == (hashlib.sha256(b"changed").hexdigest(), "")
    (folder / "resnet18.pt").unlink()
    assert "the file is gone" in weights("show", "resnet18.pt").output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--name", "../up.pt"), "in no folder"),
        (("--name", "deep/down.pt"), "in no folder"),
        (("--name", "weights.zip"), ".safetensors"),
        (("--licence", " "), "under which licence"),
    ],
)
def test_what_cannot_be_offered_is_refused(
    folder: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    refused = add(tmp_path, *words)
    assert refused.exit_code == 1 and said in refused.output
    unknown = weights("show", "none.pt")
    assert unknown.exit_code == 1 and "There are no weights none.pt" in unknown.output


def test_a_dry_run_without_a_sandbox_finds_them(folder: Path, tmp_path: Path, cold_runners: None) -> None:
    """The code's process is told where they are, as a sandbox has them in /weights."""
    add(tmp_path)
    channel = channel_opener(None, 1, 1 << 30)()
    try:
        assert isinstance(channel, ChildChannel)
        stands = Path(f"/proc/{channel._process.pid}/environ")
        while not (
            environment := stands.read_bytes()
        ):  # a process that has just begun its program has none yet
            assert channel._process.poll() is None
        assert f"ANYSHOT_WEIGHTS={folder}".encode() in environment.split(b"\0")
    finally:
        channel.close()

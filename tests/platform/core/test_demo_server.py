"""What the demo does on machines that lack something."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from anyshot_platform.demo import server as servers
from anyshot_platform.serving import WORKER_ENDED


def have(monkeypatch: pytest.MonkeyPatch, *commands: str) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in commands else None)


def test_bubblewrap_needs_what_makes_its_root(monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, "bwrap", "mmdebstrap")
    assert servers.choose_sandbox().name == "bubblewrap"
    have(monkeypatch, "bwrap")
    chosen = servers.choose_sandbox()
    assert chosen.name == "trusted"
    assert "lacks mmdebstrap" in chosen.sentence


def test_a_docker_daemon_that_hangs_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: list[str], timeout: float, **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    have(monkeypatch, "docker", "bwrap", "mmdebstrap")
    monkeypatch.setattr(subprocess, "run", hang)
    assert servers.choose_sandbox().name == "bubblewrap"


def test_without_any_sandbox_the_sentence_says_so_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch)
    sentence = servers.choose_sandbox().sentence
    assert "WITHOUT A SANDBOX" in sentence
    assert "every other upload is refused" in sentence


@pytest.mark.parametrize("failing", ["build", "doctor"])
def test_a_sandbox_that_cannot_be_built_or_does_not_hold_ends_the_demo(
    monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, int(failing in command), "no namespaces", "")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(servers.ServerDown):
        servers.prepare_sandbox(servers.Sandbox("bubblewrap", ""))


def test_a_worker_that_ends_again_and_again_ends_the_demo_with_its_words(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        server = servers.Server("http://127.0.0.1:1", log, process)
        log.write_text(f"ERROR {WORKER_ENDED}\n" * 2)
        server.require_up()
        log.write_text(f"the disk is full\nERROR {WORKER_ENDED}\n" * 3)
        with pytest.raises(servers.ServerDown, match="the disk is full"):
            server.require_up()

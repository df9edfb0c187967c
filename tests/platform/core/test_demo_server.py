"""What the demo does on machines that lack something."""

import html
import importlib.metadata
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from rich.console import Console
from rich.progress import Progress

from anyshot_core.data.pack import pack_dataset
from anyshot_platform.server.demo import command
from anyshot_platform.server.demo import server as servers
from anyshot_platform.server.demo.command import show_progress
from anyshot_platform.server.demo.data import DemoData
from anyshot_platform.server.demo.organizer import set_the_stage
from anyshot_platform.server.serving import WORKER_ENDED
from tests.core.tinydata import write_dataset
from tests.platform.site import Site


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


def test_a_demo_that_is_told_to_end_ends_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by `kill`, a supervisor or a script: the server went on and kept its port."""
    begun: list[servers.Server] = []

    def told_to_end(server: servers.Server) -> None:
        begun.append(server)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(servers, "AS_PROCESS", (sys.executable, "-c", "import time; time.sleep(600)"))
    monkeypatch.setattr(servers, "wait_until_healthy", told_to_end)
    for step in ("prepare_data", "migrate", "set_the_stage"):
        monkeypatch.setattr(command, step, Mock())
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        done = CliRunner().invoke(command.demo, ["--sandbox", "trusted", "--home", str(tmp_path)])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "Stopped." in done.output, done.output
    assert begun[0].process.returncode == -signal.SIGTERM


def test_in_a_file_the_demo_says_each_stage_when_it_begins(tmp_path: Path) -> None:
    states = ["queued", "queued", "meta_training", "meta_testing", "finished"]
    log, said = tmp_path / "demo.log", []
    with log.open("w") as file, Progress("{task.fields[stage]}", console=Console(file=file)) as bars:
        line = bars.add_task("ada: Random guessing", total=1, stage="", used="")
        for state in states:
            run = {"state": state, "tasks_total": 4, "tasks_done": 0, "seconds_used": 1.0}
            show_progress(bars, line, {"runs": [run | {"budget_seconds": 60}]})
            said.append(log.read_text().splitlines())
    begun = [
        f"ada: Random guessing: {stage}" for stage in ("queued", "meta-training", "meta-testing", "finished")
    ]
    assert said == [begun[:1], begun[:1], begun[:2], begun[:3], begun]


def test_the_demo_s_overview_has_the_line_that_installs_the_kit_from_this_site(
    site: Site, tmp_path: Path
) -> None:
    packs = {
        name: (
            pack_dataset(write_dataset(tmp_path / name, seed=seed), tmp_path / f"{name}.anyshot-pack").path,
        )
        for seed, name in enumerate(("set-0", "set-1"))
    }
    set_the_stage(site.services, DemoData(packs, generated=True), tasks=4, budget_seconds=60)
    phase = "/api/v1/competitions/demo/manage/phases/feedback"
    operator = site.person("operator", is_site_admin=True)
    saved = operator.call("PATCH", phase, json={"description": "Saved as it is."})
    assert saved.status_code == 200, saved.text
    page = site.client.get("/competitions/demo", headers={"accept": "text/html"}).text
    address = site.services.settings.base_url.rstrip("/")
    version = importlib.metadata.version("anyshot-starting-kit")
    install = f'pip install --extra-index-url {address}/kit/simple/ "anyshot-starting-kit[torch]=={version}"'
    assert install in html.unescape(page)
    assert "anyshot dry-run my-method --quick" in page

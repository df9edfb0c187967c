"""A worker's start: what it waits for, and what it refuses at once."""

import json
import logging
import os
import time
from types import SimpleNamespace
from typing import cast

import pytest
from click.testing import CliRunner

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker import process
from anyshot_worker.claiming import RunClaimer
from anyshot_worker.cli import worker
from anyshot_worker.sandbox import SandboxError, Sandboxes
from anyshot_worker.settings import WorkerSettings

SETTINGS = cast(WorkerSettings, object())


def let_it_fail(monkeypatch: pytest.MonkeyPatch, *errors: SandboxError) -> list[SandboxError]:
    """Opening the sandboxes raises each of these once, and then works."""
    left = list(errors)

    def open_once(settings: WorkerSettings) -> str:
        if left:
            raise left.pop(0)
        return "open"

    monkeypatch.setattr(Sandboxes, "from_settings", open_once)
    monkeypatch.setattr(process, "DAEMON_PAUSE", 0.01)
    return left


def test_a_daemon_that_is_being_restarted_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    away = SandboxError("the Docker daemon does not answer")
    left = let_it_fail(monkeypatch, away, away)
    assert process.open_sandboxes(SETTINGS) == "open" and not left


def test_a_daemon_that_stays_away_ends_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    let_it_fail(monkeypatch, *[SandboxError("the Docker daemon does not answer")] * 1000)
    monkeypatch.setattr(process, "DAEMON_PATIENCE", 0.05)
    with pytest.raises(SandboxError, match="does not answer"):
        process.open_sandboxes(SETTINGS)


def test_a_guarantee_that_does_not_hold_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    left = let_it_fail(monkeypatch, *[SandboxError("the sandbox does not hold", Verdict.SANDBOX_START)] * 2)
    with pytest.raises(SandboxError, match="does not hold"):
        process.open_sandboxes(SETTINGS)
    assert len(left) == 1


def test_celery_gives_root_no_advice_that_anyshot_cannot_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning fails the test: `Please specify a different user using the --uid option`."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    said = {"worker_name": "w", "hardware_class": "cpu", "concurrency": 1, "broker_url": "memory://"}
    claimer = cast(RunClaimer, object())
    assert process.make_listener(cast(WorkerSettings, SimpleNamespace(**said)), claimer).concurrency == 1


@pytest.mark.parametrize("form", ["json", "text"])
def test_log_lines_have_the_form_that_was_asked_for(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The review: the embedded worker wrote text among the platform's lines of JSON."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", list(root.handlers))
    monkeypatch.setattr(root, "level", root.level)
    told = {"PLATFORM_URL": "http://127.0.0.1:1", "WORKER_TOKEN": "t", "BROKER_URL": "filesystem://localhost"}
    for name, value in {**told, "LOG_FORMAT": form}.items():
        monkeypatch.setenv(f"ANYSHOT_{name}", value)
    log = logging.getLogger("anyshot_worker")
    monkeypatch.setattr(process, "run", lambda _, **stay: log.info("claimed", extra={"run_id": "r1"}))
    done = CliRunner().invoke(worker, ["run"], catch_exceptions=False)
    line = done.stderr.splitlines()[-1]
    if form == "json":
        entry = json.loads(line)
        assert (entry["message"], entry["level"], entry["run_id"]) == ("claimed", "info", "r1")
    else:
        assert line.endswith("INFO anyshot_worker: claimed")


@pytest.mark.parametrize(
    ("arguments", "seconds"),
    [([], 3600 - 60), (["--stop-before", "30"], 1800 - 60), (["--stop-before", "0"], -60)],
)
def test_a_worker_stops_a_minute_before_its_time_is_up(
    arguments: list[str], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm says when a job ends; who starts the worker may say it too."""
    told = {"ANYSHOT_PLATFORM_URL": "http://127.0.0.1:1", "ANYSHOT_WORKER_TOKEN": "t"}
    for name, value in {**told, "SLURM_JOB_END_TIME": str(time.time() + 3600)}.items():
        monkeypatch.setenv(name, value)
    stop_at: list[float] = []
    monkeypatch.setattr(process, "run", lambda _, **stay: stop_at.append(stay["stop_at"]))
    done = CliRunner().invoke(worker, ["run", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert stop_at == [pytest.approx(time.monotonic() + seconds, abs=5)]

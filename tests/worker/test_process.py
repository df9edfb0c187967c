"""A worker's start: what it waits for, and what it refuses at once."""

from __future__ import annotations

from typing import cast

import pytest

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker import process
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

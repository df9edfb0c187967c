"""`anyshot replay`: what a worker ran is run again from its receipt, by whoever may read the code."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.foundation.database import now
from tests.contract.stage import Stage
from tests.contract.test_checkpoints import RANDOM
from tests.contract.test_jobs import submit
from tests.services.material import TEST, TRAIN
from tests.services.processes import free_port
from tests.services.sites import served

PHASE = "/api/v1/competitions/small/manage/phases/feedback"


@pytest.fixture
def address(stage: Stage) -> Iterator[str]:
    with served(stage.site.app, free_port(), lifespan="off") as found:
        yield found


@pytest.fixture
def data(stage: Stage, tmp_path: Path) -> Path:
    """The packs as `anyshot data get` writes them."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in (*TRAIN, *TEST):
        (folder / f"{name}.anyshot-pack").hardlink_to(stage.packs[name])
    return folder


def publish(stage: Stage) -> None:
    """The phase is over, its key and its data are public."""
    stage.site.set_phase(ends_at=now() - timedelta(hours=1))
    with stage.site.services.database.writing() as session:
        for pool in session.query(Pool):
            pool.published_at = now()
    said = stage.site.owner().call("POST", f"{PHASE}/acts/publish-key", json={"confirm": "feedback"})
    assert said.status_code == 200, said.text


def replay(submission: str, data: Path, address: str, token: str) -> tuple[int, list[str]]:
    words = ["replay", submission, "--data", str(data), "--server", address, "--token", token]
    found = CliRunner().invoke(main, words, catch_exceptions=False)
    return found.exit_code, found.stdout.splitlines()


@pytest.mark.seconds("runs two submissions twice")
def test_a_run_is_repeated_to_the_last_digit_or_with_the_reason_why_not(
    stage: Stage, data: Path, address: str
) -> None:
    alice, shown = submit(stage, "alice", RANDOM)
    by_clock = RANDOM.replace("return noise", "return time.perf_counter_ns() % 7919 * noise % 1")
    _, other = submit(stage, "bob", by_clock)
    stage.worker().work()
    assert replay(shown, data, address, alice.token) == (
        1,
        ["FAILED: The phase has not published its key, so its tasks cannot be drawn."],
    )
    publish(stage)
    code, lines = replay(shown, data, address, alice.token)
    score = stage.shown(alice, shown)["score"]
    assert lines[1:] == [f"Score: {score}; the receipt says {score}.", "Same: to the last digit."]
    assert code == 0
    code, lines = replay(other, data, address, stage.site.owner().token)
    assert code == 1 and "6 of 6 tasks were answered otherwise, first in task 0." in lines[2], lines
    assert lines[-1].startswith("Different: answers that follow from time")

"""When a queued run should start: the range holds the true start as often as documentation says."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest

from anyshot_core.words import moment_words
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.settings import read_settings
from anyshot_platform.judging.runs.records import ExpectedStart
from anyshot_platform.running.capacity import simulation
from anyshot_platform.running.capacity.expecting import expect_of_class, expect_starts
from anyshot_platform.running.capacity.playing import Play
from anyshot_platform.running.capacity.simulation import Scene, simulate
from anyshot_starting_kit.cli.status import describe
from tests.platform.admin.test_manage import page
from tests.platform.site import Site
from tests.platform.web.test_outlook import scored

SETTINGS = read_settings(secret_key="a key that nothing is signed with")
HOUR = 3600.0
LENGTHS = tuple(min(Random(number).lognormvariate(0.0, 0.8), 5.0) * HOUR for number in range(50))
FINALS = Scene(teams=6, workers=3, days=1, seconds=LENGTHS, runs=2, uploads=0)
RUSH = Scene(teams=14, workers=2, days=1, seconds=LENGTHS, uploads=1, rush=3)


def told_and_true(
    scene: Scene, hours: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[ExpectedStart, datetime]]:
    """What queued runs are told so many hours after the start of a simulated phase, and when they do start."""
    told: list[tuple[str, ExpectedStart]] = []
    found: list[tuple[ExpectedStart, datetime]] = []

    class Watched(Play):
        def play(self, over: Callable[[], bool] = lambda: False) -> None:
            for hour in hours:
                self.at(simulation._START + timedelta(hours=hour), self.ask)  # pyright: ignore[reportPrivateUsage]
            super().play(over)
            found.extend((expected, self.starts[run_id]) for run_id, expected in told)

        def ask(self) -> None:
            told.extend(expect_of_class(self.session, self.settings, "simulated").items())

    monkeypatch.setattr(simulation, "Play", Watched)
    simulate(scene, SETTINGS)
    return found


@pytest.mark.slow("ten phases are played, and in each its queue many times")
def test_the_range_holds_the_true_start_as_often_as_documentation_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Measured with six phases each: 85 % in finals, 88 % in a rush; here five, drawn anew."""
    found = [
        one
        for scene, hours in ((FINALS, (3, 5)), (RUSH, (24, 27)))
        for seed in range(5)
        for one in told_and_true(replace(scene, seed=seed), hours, monkeypatch)
    ]
    inside = sum(expected.earliest <= start <= expected.latest for expected, start in found)
    assert len(found) >= 40 and inside >= 0.8 * len(found)


def test_a_queued_submission_is_told_when_it_should_start(site: Site) -> None:
    """On its page, over JSON and by command; nothing is told of one that a worker has taken."""
    worker, alice, bob, carol = site.worker(), *(site.member(name) for name in ("alice", "bob", "carol"))
    for person, minutes in ((alice, 9.8), (alice, 9.9), (alice, 10), (bob, 10.1), (bob, 10.2)):
        scored(worker, person, site, minutes)
    bob.submit()
    running = worker.claim()
    path = f"/api/v1/submissions/{carol.submit().json()['id']}"
    assert carol.call("GET", path).json()["expected_start"] is None
    assert expect_starts(site.services) == 1
    found = carol.call("GET", path).json()
    expected = ExpectedStart.model_validate(found["expected_start"])
    # Bob's run began a moment ago, and should take ten minutes, as those before it.
    assert now() < expected.earliest <= expected.likely <= expected.latest
    assert expected.likely == pytest.approx(now() + timedelta(minutes=10), abs=timedelta(minutes=1))
    words = f"likely at {moment_words(expected.likely)}"
    assert words in describe(found, "")
    shown = page(carol, f"/submissions/{found['id']}").text
    assert "Next in the queue; it should start in about " in shown
    assert running is not None and worker.complete(running, 0.5).status_code == 204
    assert worker.claim() is not None
    assert carol.call("GET", path).json()["expected_start"] is None

"""`anyshot admin simulate`: a phase played by the platform's own decisions, on a clock of its own."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.cli import admin
from anyshot_platform.foundation.settings import read_settings
from anyshot_platform.judging.execution import scheduling
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.running.capacity import simulation
from anyshot_platform.running.capacity.simulation import Scene, simulate
from tests.platform.site import SLUG, Site
from tests.platform.web.test_outlook import scored

HOUR = 3600.0
SETTINGS = read_settings(secret_key="a key that nothing is signed with")
AT_THE_START = Scene(teams=3, workers=1, days=1, seconds=(HOUR,), uploads=0)
CROWDED = Scene(teams=6, workers=2, days=1, seconds=(HOUR, 5 * HOUR), runs=2, uploads=2, rush=6)


def test_three_entries_on_one_worker_wait_none_one_and_two_hours() -> None:
    found = simulate(AT_THE_START, SETTINGS)
    assert (found.submissions, found.runs, found.refused) == (3, 3, 0)
    # Teams hand in a millisecond one after the other.
    assert (found.median, found.worst) == pytest.approx((HOUR, 2 * HOUR), abs=0.01)
    assert (found.use, found.worker_hours, found.late_seconds) == (3 / 24, 24, 0)
    two = simulate(replace(AT_THE_START, workers=2), SETTINGS)
    assert (two.median, two.worst) == pytest.approx((0, HOUR), abs=0.01)
    assert (two.use, two.worker_hours) == (3 / 48, 48)


def test_after_the_end_the_workers_go_on() -> None:
    found = simulate(replace(AT_THE_START, seconds=(10 * HOUR,)), SETTINGS)
    assert (found.worker_hours, found.late_seconds) == pytest.approx((30, 6 * HOUR), abs=0.01)


def test_what_a_quota_refuses_does_not_run() -> None:
    """Two uploads of each of three teams within seconds: one at a time is allowed, and then one a day."""
    both = replace(AT_THE_START, uploads=2, rush=0.001)
    for quota in ("quota_concurrent", "quota_day", "quota_phase"):
        found = simulate(replace(both, **{quota: 1}), SETTINGS)
        assert (found.submissions, found.refused) == (3, 3), quota


def test_a_lost_worker_costs_its_lease_and_the_run_is_tried_again() -> None:
    """Three attempts of at most a second, each with the 30 seconds of its lease, before the next run's turn."""
    found = simulate(replace(AT_THE_START, teams=2, seconds=(1.0,), lost=0.999_999), SETTINGS)
    assert 3 * 30 < found.worst < 3 * 31


def test_waiting_times_are_those_of_the_oldest_of_a_team_that_has_none_running() -> None:
    waits = play_by_hand(CROWDED, fair=True)
    found = simulate(CROWDED, SETTINGS)
    assert (found.runs, found.worst) == (24, pytest.approx(max(waits), abs=0.01))
    assert found.median == pytest.approx(sorted(waits)[11] / 2 + sorted(waits)[12] / 2, abs=0.01)
    unfair = play_by_hand(CROWDED, fair=False)
    assert max(unfair) != pytest.approx(found.worst, rel=0.01)


def test_another_rule_of_choosing_gives_other_waiting_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform's own rule is played: the newest first lets the oldest wait for ever."""
    usual = simulate(CROWDED, SETTINGS)

    def pick_newest(session: Session, fits: Any) -> Run | None:
        return session.scalars(select(Run).where(fits).order_by(Run.queued_at.desc()).limit(1)).first()

    monkeypatch.setattr(scheduling, "_pick", pick_newest)
    assert simulate(CROWDED, SETTINGS).worst > usual.worst


def play_by_hand(scene: Scene, *, fair: bool) -> list[float]:
    """The waiting times of a scene by the rules as documentation states them, without the platform."""
    order = 0
    events: list[
        tuple[datetime, int, str, float]
    ] = []  # an upload's run, or with 0 seconds the end of a team's run
    waits, running, free = list[float](), list[str](), scene.workers
    queue: list[tuple[datetime, str, float]] = []
    for moment, team, lengths in simulation._plan_uploads(scene):  # pyright: ignore[reportPrivateUsage]
        for seconds in lengths:
            heappush(events, (moment, order := order + 1, team, seconds))
    while events:
        moment, _, team, seconds = heappop(events)
        if seconds:
            queue.append((moment, team, seconds))
        else:
            running.remove(team)
            free += 1
        if events and events[0][0] == moment:
            continue
        while free and queue:
            rested = [one for one in queue if fair and one[1] not in running]
            chosen = (rested or queue)[0]
            queue.remove(chosen)
            running.append(chosen[1])
            free -= 1
            waits.append((moment - chosen[0]).total_seconds())
            heappush(events, (moment + timedelta(seconds=chosen[2]), order := order + 1, chosen[1], 0.0))
    return waits


def test_the_command_plays_2022_and_says_what_one_more_worker_brings() -> None:
    asked = ["simulate", "--example", "cross-domain-metadl-2022/final", "--teams", "4", "--price", "0.5"]
    shown = CliRunner().invoke(admin, asked)
    assert shown.exit_code == 0, shown.output
    head, ten, eleven, more = shown.output.splitlines()
    assert head == (
        "cross-domain-metadl-2022/final: 4 teams, one entry at the start, 7 days, 3 runs of 54 min to 9 h a submission."
    )
    assert ten.startswith("10 workers: 4 submissions (0 refused by a quota). A run waits ")
    assert " of 1,680 worker hours, cost 840.00. " in ten and eleven.startswith("11 workers: ")
    assert more.startswith("One more worker: ") and more.endswith(" for 168 more worker hours (84.00).")
    told = json.loads(CliRunner().invoke(admin, [*asked, "--json"]).output)
    assert [one["cost"] for one in told["outcomes"]] == [840, 924]
    assert told["scene"]["runs"] == 3 and told["outcomes"][0]["runs"] == 12


def test_a_phase_of_the_site_is_played_with_what_its_runs_took(site: Site) -> None:
    scored(site.worker(), site.member("alice"), site, 10)
    asked = ["simulate", f"{SLUG}/feedback", "--teams", "2", "--days", "1", "--rush", "6", "--price", "0.35"]
    shown = CliRunner().invoke(admin, asked, env=site.environment)
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith(
        "small/feedback: 2 teams, 3 uploads a day, 1 day, 1 run of 10 min to 10 min a submission.\n"
        "1 worker: 6 submissions (0 refused by a quota)."
    )


def test_what_cannot_be_played_is_said() -> None:
    for asked, words in {
        ("--example", "nothing/final"): "There is no ready-made phase nothing/final.",
        ("--hours", "long"): "--hours is a list of numbers, such as 0.5,2,5.",
        ("--hours", "1,0"): "--hours are above 0.",
    }.items():
        shown = CliRunner().invoke(admin, ["simulate", *asked])
        assert shown.exit_code == 2 and words in shown.output

"""Leases, epochs, sweeper, cancel: nothing gets lost, nothing gets stuck."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from anyshot_platform.contest.competitions.service import add_member
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases import priorities
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.background.duties import take_duty
from anyshot_platform.foundation.background.models import OutboxRing, Sweep
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution import leases
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.judging.workers.places import find_place
from anyshot_platform.judging.workers.tokens import Reach, create_worker_token
from anyshot_platform.people.alerts.service import list_open
from anyshot_platform.people.users.models import User
from anyshot_platform.server import sweeper as sweeper_module
from anyshot_platform.server.sweeper import (
    FORGIVEN_SECONDS,
    LeaseWatch,
    Sweeper,
    forgive_lost,
    ring_again,
    sweep,
    take_back_lost,
)
from tests.platform.conftest import Databases
from tests.platform.site import PaperWorker, Site, make_small_competition, make_zip
from tests.services.processes import wait_until


def claimed_and_run_out(site: Site) -> tuple[Any, dict[str, Any]]:
    """A worker and the run that it has, whose lease has run out."""
    site.member("alice").submit()
    worker, job = claimed(site)
    let_leases_run_out(site)
    return worker, job


def let_leases_run_out(site: Site) -> None:
    with site.services.database.writing() as session:
        session.execute(update(Run).values(lease_expires_at=now() - timedelta(seconds=1)))


def wait_for_the_first_sweep(site: Site) -> None:
    """Wait until a sweeper has looked at leases and goes on to the sweep."""

    def sweeping() -> bool:
        with site.services.database.reading() as session:
            return session.get(Sweep, "sweep") is not None

    wait_until(sweeping, "the sweeper's first sweep", 60)


def only_run(site: Site) -> Run:
    with site.services.database.reading() as session:
        return session.scalars(select(Run)).one()


def claimed(site: Site, name: str = "paper") -> tuple[Any, dict[str, Any]]:
    worker = site.worker(name)
    job = worker.claim()
    assert job is not None
    return worker, job


def has_a_lease_of_30_seconds(run: Run) -> bool:
    """Claimed or extended a moment ago; five seconds later at most."""
    assert run.lease_expires_at is not None
    return timedelta(seconds=25) < run.lease_expires_at - now() <= timedelta(seconds=30)


def test_the_more_workers_the_farther_apart_are_their_beats_but_three_within_a_lease(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = site.member("alice")

    def pace_of_another(number: int) -> float:
        alice.submit(make_zip(salt=f"a{number}"))
        worker, job = claimed(site, f"paper {number}")
        return worker.beat(job).json()["pace_seconds"]

    assert [pace_of_another(1), pace_of_another(2)] == [0.05, 0.1]
    monkeypatch.setattr(leases, "_BEATS_A_SECOND", 0.1)
    assert pace_of_another(3) == 10.0


def test_the_more_workers_are_idle_the_less_often_each_asks(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_BEATS_A_SECOND", 0.5)
    waits = [site.worker(f"paper {number}").ask().headers["retry-after"] for number in range(6)]
    assert waits == ["2", "4", "6", "8", "10", "10"]


def test_a_claim_has_a_lease_of_the_seconds_that_the_settings_say(site: Site) -> None:
    site.member("alice").submit()
    claimed(site)
    assert has_a_lease_of_30_seconds(only_run(site))


def test_a_lost_lease_goes_to_another_worker_and_the_old_one_is_refused(site: Site) -> None:
    shown = site.member("alice").submit().json()
    dead, old = claimed(site, "dead")
    let_leases_run_out(site)
    assert take_back_lost(site.services) == 1
    assert only_run(site).state == RunState.QUEUED
    late = [
        dead.beat(old),
        dead.complete(old, 0.99),
        dead.fail(old, "RUNTIME_ERROR"),
        dead.put(old, "log.txt", b"late"),
        dead.tell(old),
        dead.release(old),
    ]
    assert {(answer.status_code, answer.json()["error"]) for answer in late} == {(409, "stale_epoch")}
    alive, new = claimed(site, "alive")
    assert new["epoch"] > old["epoch"] and new["attempt"] == 2
    assert alive.complete(new, 0.5).status_code == 204
    assert dead.complete(old, 0.99).status_code == 409
    assert site.submission(shown["id"]).score == 0.5


def test_a_heartbeat_extends_the_lease(site: Site) -> None:
    site.member("alice").submit()
    worker, job = claimed(site)
    let_leases_run_out(site)
    assert worker.beat(job).json()["lease_seconds"] == 30.0
    assert take_back_lost(site.services) == 0
    assert has_a_lease_of_30_seconds(only_run(site))


def test_a_late_heartbeat_does_not_take_a_run_back(site: Site) -> None:
    site.member("alice").submit()
    worker, job = claimed(site)
    worker.beat(job, "scoring")
    assert worker.beat(job, "meta_training").status_code == 200
    assert only_run(site).state == RunState.SCORING


def test_a_run_that_takes_workers_down_is_quarantined(site: Site) -> None:
    shown = site.member("alice").submit().json()
    for number in range(3):
        claimed(site, f"worker{number}")
        let_leases_run_out(site)
        take_back_lost(site.services)
    run = only_run(site)
    assert (run.state, run.quarantined, run.workers_lost) == (RunState.FAILED, True, 3)
    submission = site.submission(shown["id"])
    assert (submission.quarantined, submission.counts_quota) == (True, False)
    with site.services.database.reading() as session:
        assert [row.outcome for row in session.scalars(select(Attempt))] == ["WORKER_LOST"] * 3
        assert [alert.kind for alert in list_open(session)] == ["run_lost"]


def test_a_run_that_goes_on_further_each_time_is_not_given_up_soon(site: Site) -> None:
    site.member("alice").submit()

    def lose_one(number: int, *, stores: bool) -> Run:
        worker, job = claimed(site, f"worker{number}")
        if stores:
            assert worker.put(job, "checkpoint-training.bin", bytes([number])).status_code == 204
        let_leases_run_out(site)
        take_back_lost(site.services)
        return only_run(site)

    run = [lose_one(number, stores=True) for number in range(5)][-1]
    assert (run.state, run.workers_lost, run.infrastructure_failures) == (RunState.QUEUED, 5, 0)
    run = [lose_one(number, stores=False) for number in range(5, 8)][-1]
    assert (run.state, run.workers_lost) == (RunState.FAILED, 8)


def test_a_run_that_always_stores_something_is_given_up_in_the_end(site: Site) -> None:
    """It may be what kills them, once it has stored."""
    site.member("alice").submit()
    for number in range(30):
        worker, job = claimed(site, f"worker{number}")
        assert worker.put(job, "checkpoint-training.bin", bytes([number])).status_code == 204
        let_leases_run_out(site)
        take_back_lost(site.services)
    run = only_run(site)
    assert (run.state, run.quarantined, run.workers_lost) == (RunState.FAILED, True, 30)


def test_a_run_whose_claim_was_never_answered_costs_nothing_once(site: Site) -> None:
    """The connection broke after the claim was committed: the worker claims again, and knows of no first run."""
    site.member("alice").submit()
    worker, ghost = claimed(site)
    let_leases_run_out(site)
    assert worker.claim() is None  # it asks again, and lives
    assert take_back_lost(site.services) == 1
    run = only_run(site)
    assert (run.state, run.infrastructure_failures, run.workers_lost) == (RunState.QUEUED, 0, 0)
    assert "did not learn" in run.progress_message
    again = worker.claim()
    assert again is not None and again["run_id"] == ghost["run_id"]
    let_leases_run_out(site)
    assert worker.claim() is None
    take_back_lost(site.services)
    assert only_run(site).workers_lost == 1, "the run itself may be what ends its workers at once"


@pytest.mark.parametrize(
    ("began", "silent_for"), [(True, 0), (False, 20)], ids=["it beat before", "its worker is silent since"]
)
def test_a_run_that_a_worker_has_lost_is_charged(site: Site, began: bool, silent_for: int) -> None:
    site.member("alice").submit()
    worker, job = claimed(site)
    if began:
        worker.beat(job, "preparing")
    let_leases_run_out(site)
    assert worker.claim() is None
    moment = now() - timedelta(seconds=silent_for)
    with site.services.database.writing() as session:
        session.execute(update(Run).values(claimed_at=moment - timedelta(seconds=31)))
        session.execute(update(Worker).values(last_seen_at=moment))
    take_back_lost(site.services)
    assert only_run(site).workers_lost == 1


def test_a_worker_that_stops_gives_its_lease_back(site: Site) -> None:
    site.member("alice").submit()
    worker, job = claimed(site)
    assert worker.release(job).status_code == 204
    run = only_run(site)
    assert (run.state, run.infrastructure_failures) == (RunState.QUEUED, 0)
    _, again = claimed(site, "another")
    assert again["run_id"] == job["run_id"]


def test_back_off_keeps_a_failed_run_away_for_a_while(site: Site) -> None:
    settings = site.services.settings.model_copy(update={"retry_seconds": 60.0})
    object.__setattr__(site.services, "settings", settings)
    site.member("alice").submit()
    worker, job = claimed(site)
    worker.fail(job, "DOCKER_ERROR")
    assert worker.claim() is None
    run = only_run(site)
    assert run.available_at > now() + timedelta(seconds=50)


def test_five_at_once_get_one_run(site: Site) -> None:
    site.member("alice").submit()
    workers = [site.worker(f"w{number}") for number in range(5)]
    with ThreadPoolExecutor(5) as pool:
        jobs = list(pool.map(lambda worker: worker.claim(), workers))
    assert sum(job is not None for job in jobs) == 1
    assert only_run(site).epoch == 1


def test_cancelling_a_queued_run_ends_it_at_once(site: Site) -> None:
    alice = site.member("alice")
    shown = alice.submit().json()
    answer = alice.call("POST", f"/api/v1/submissions/{shown['id']}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert site.worker().claim() is None
    assert alice.call("POST", f"/api/v1/submissions/{shown['id']}/cancel").status_code == 409


def test_cancelling_a_running_run_reaches_its_worker_by_the_next_heartbeat(site: Site) -> None:
    alice = site.member("alice")
    shown = alice.submit().json()
    worker, job = claimed(site)
    alice.call("POST", f"/api/v1/submissions/{shown['id']}/cancel")
    assert worker.beat(job).json()["cancel"] is True
    assert worker.complete(job, 0.9).status_code == 204  # the result crossed the wish: it does not count
    submission = site.submission(shown["id"])
    assert (submission.status, submission.score, submission.counts_quota) == ("cancelled", None, True)


def test_cancelled_and_then_lost_ends_too(site: Site) -> None:
    alice = site.member("alice")
    shown = alice.submit().json()
    claimed(site)
    alice.call("POST", f"/api/v1/submissions/{shown['id']}/cancel")
    let_leases_run_out(site)
    take_back_lost(site.services)
    assert site.submission(shown["id"]).status == "cancelled"


def test_a_wiped_broker_is_rung_again(site: Site) -> None:
    site.member("alice").submit()
    with site.services.database.writing() as session:
        session.execute(update(OutboxRing).values(sent_at=now()))  # sent, and wiped
        early = now() - timedelta(minutes=1)
        session.execute(update(Run).values(queued_at=early, available_at=early))
    assert ring_again(site.services) == 1
    assert ring_again(site.services) == 0  # not again before its time


@pytest.mark.seconds("waits for a look at leases")
def test_leases_are_looked_at_while_old_files_are_removed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    removing, looked, may_end = threading.Event(), threading.Event(), threading.Event()

    def keep_house(services: Services) -> None:
        removing.set()
        may_end.wait(60)

    monkeypatch.setattr(sweeper_module, "keep_house", keep_house)
    monkeypatch.setattr(LeaseWatch, "look", lambda *_: looked.set() if removing.is_set() else None)
    sweeper = Sweeper(site.services)
    sweeper.start()
    try:
        assert looked.wait(30)
    finally:
        may_end.set()
        sweeper.stop()


def test_one_of_several_sweepers_sweeps(site: Site) -> None:
    assert take_duty(site.services, "sweep", "a", 10.0)
    assert not take_duty(site.services, "sweep", "b", 10.0)
    assert take_duty(site.services, "another", "b", 10.0)


@pytest.mark.seconds("waits for a sweep")
def test_a_dead_workers_run_does_not_wait_for_the_next_sweep(site: Site) -> None:
    """The settings' ten seconds between sweeps would come on top of the lease: too late for the 45 s promised."""
    site.member("alice").submit()
    settings = site.services.settings.model_copy(update={"sweep_seconds": 600.0})
    sweeper = Sweeper(replace(site.services, settings=settings))
    sweeper.start()
    try:
        wait_for_the_first_sweep(site)  # whose look at leases forgives
        worker, _ = claimed(site, "dead")
        let_leases_run_out(site)
        deadline = time.monotonic() + 60
        while only_run(site).state != RunState.QUEUED and time.monotonic() < deadline:
            time.sleep(0.05)
        assert only_run(site).state == RunState.QUEUED
        assert worker.claim() is not None
    finally:
        sweeper.stop()


def test_operators_hear_of_a_queue_without_workers(site: Site) -> None:
    site.member("alice").submit()
    with site.services.database.writing() as session:
        session.execute(update(Run).values(queued_at=now() - timedelta(minutes=5)))
    sweep(site.services)
    with site.services.database.reading() as session:
        (alert,) = list_open(session)
        assert (alert.kind, alert.subject) == ("no_workers", "cpu")
        assert alert.message == "Class “cpu” has no worker, and 1 run waits for it."
    claimed(site)
    sweep(site.services)
    with site.services.database.reading() as session:
        assert list_open(session) == []


def test_fair_share_then_priority_then_age(site: Site) -> None:
    site.set_phase(quota_day=None, quota_concurrent=None)
    site.offer_smoke_tests()
    alice, bob = site.member("alice"), site.member("bob")
    first = [alice.submit(make_zip(salt=f"a{number}")).json()["id"] for number in range(2)]
    second = bob.submit(make_zip(salt="b")).json()["id"]
    smoke = bob.submit(make_zip(salt="s"), smoke=True).json()["id"]
    worker = site.worker()
    order = [job["submission_id"] for _ in range(4) if (job := worker.claim()) is not None]
    # The smoke test has priority; bob has a run then, so both of alice's... the first is fair, then the oldest goes.
    assert order == [smoke, first[0], first[1], second]


def test_among_runs_of_a_competition_the_urgent_goes_first_and_what_is_kept_away_waits(site: Site) -> None:
    site.set_phase(quota_day=None, quota_concurrent=None)
    alice, worker = site.member("alice"), site.worker()
    early, usual, urgent = [alice.submit(make_zip(salt=str(number))).json()["id"] for number in range(3)]
    with site.services.database.writing() as session:
        for run in session.query(Run):
            if run.submission_id == early:
                run.available_at = now() + timedelta(days=1)
            elif run.submission_id == urgent:
                run.priority += 1
    order = [job["submission_id"] for _ in range(3) if (job := worker.claim()) is not None]
    assert order == [urgent, usual]


def test_a_team_without_a_running_evaluation_goes_first(site: Site) -> None:
    site.set_phase(quota_day=None, quota_concurrent=None)
    alice, bob = site.member("alice"), site.member("bob")
    first = [alice.submit(make_zip(salt=f"a{number}")).json()["id"] for number in range(2)]
    second = bob.submit(make_zip(salt="b")).json()["id"]
    worker = site.worker()
    order = [job["submission_id"] for _ in range(3) if (job := worker.claim()) is not None]
    assert order == [first[0], second, first[1]]


def waits(site: Site, slug: str, count: int = 3, *, smoke: bool = False, priority: int | None = None) -> str:
    """Another competition of the site with waiting runs; its id."""
    phase_id = make_small_competition(site.services, site.owner_id, slug=slug)
    with site.services.database.writing() as session:
        phase = session.get_one(Phase, phase_id)
        phase.quota_day, phase.quota_concurrent = None, None
        phase.priority = phase.priority if priority is None else priority
        add_member(session, phase.competition, session.get_one(User, site.owner_id), Role.PARTICIPANT)
        competition_id = phase.competition_id
    owner = site.owner()
    for number in range(count):
        upload = owner.upload(make_zip(salt=f"{slug}{number}"))
        path = f"/api/v1/competitions/{slug}/phases/feedback/submissions"
        assert owner.call("POST", path, json={"upload_id": upload}).status_code == 201
    if smoke:
        with site.services.database.writing() as session:
            runs = update(Run).where(Run.competition_id == competition_id)
            session.execute(runs.values(priority=priorities.SMOKE))
    return competition_id


def served(site: Site, worker: PaperWorker, count: int, *, one_at_a_time: bool) -> list[str]:
    """The competitions of the runs that a worker claims."""
    claimed = []
    for _ in range(count):
        job = worker.claim()
        assert job is not None
        with site.services.database.reading() as session:
            claimed.append(session.get_one(Run, job["run_id"]).competition_id)
        if one_at_a_time:
            worker.complete(job, 0.5)
    return claimed


@pytest.mark.parametrize("one_at_a_time", [True, False])
@pytest.mark.parametrize("smoke", [True, False])
def test_no_competition_starves_another(site: Site, smoke: bool, one_at_a_time: bool) -> None:
    """Not by the most that its organizers may ask for, not by many runs, not by smoke tests."""
    greedy = waits(site, "greedy", 5, smoke=smoke, priority=priorities.ORGANIZERS_MOST)
    modest = waits(site, "modest", 2, priority=0)
    order = served(site, site.worker(), 4, one_at_a_time=one_at_a_time)
    assert order.count(greedy) == order.count(modest) == 2


def test_a_smoke_test_goes_out_of_turn(site: Site) -> None:
    """Somebody waits for it, and it takes seconds."""
    site.set_phase(quota_day=None, quota_concurrent=None)
    worker = site.worker()
    waits(site, "first", 3)
    served(site, worker, 1, one_at_a_time=False)
    waits(site, "other", 3)
    smoke = waits(site, "tried", 1, smoke=True)
    assert served(site, worker, 1, one_at_a_time=False) == [smoke]


def test_a_place_in_the_queue_counts_turns(site: Site) -> None:
    """Ten runs of another competition are one run ahead of the first of this one."""
    waits(site, "greedy", 10, priority=priorities.ORGANIZERS_MOST)
    alice = site.member("alice")
    alice.submit()
    with site.services.database.reading() as session:
        own = session.scalars(select(Run).join(Run.submission).where(Submission.user_id == alice.id)).one()
        place = find_place(session, own)
    assert place is not None and place.ahead == 1


@pytest.mark.parametrize(("own", "workers"), [(True, 1), (False, 0)])
def test_a_worker_of_another_competition_serves_no_run_of_this_one(
    site: Site, own: bool, workers: int
) -> None:
    """Its token is for that one: a page that counted it would promise a start that never comes."""
    patient, busy = waits(site, "patient", 2), waits(site, "busy", 1)
    with site.services.database.writing() as session:
        reach = Reach(competition_id=patient if own else busy)
        token = create_worker_token(session, "machine", reach=reach)
    assert PaperWorker(site.client, token, "machine").claim() is not None
    with site.services.database.reading() as session:
        waiting = select(Run).where(Run.competition_id == patient, Run.state == RunState.QUEUED)
        place = find_place(session, session.scalars(waiting.limit(1)).one())
    assert place is not None and place.workers == workers


@pytest.mark.parametrize(("patience", "workers"), [(600.0, 1), (60.0, 0)])
def test_the_operator_says_when_a_silent_worker_is_gone(
    databases: Databases, tmp_path: Path, patience: float, workers: int
) -> None:
    """A page told its own minute, whatever the setting."""
    with Site(databases.services(tmp_path, worker_gone_seconds=patience)) as site:
        site.worker().claim()
        with site.services.database.writing() as session:
            session.execute(update(Worker).values(last_seen_at=now() - timedelta(minutes=2)))
        waits(site, "patient", 1)
        with site.services.database.reading() as session:
            place = find_place(session, session.scalars(select(Run)).one())
    assert place is not None and place.workers == workers


def test_no_phase_goes_before_finals_and_smoke_tests(site: Site) -> None:
    """Organizers are told the most that they may ask for, whichever way they ask."""
    owner, path = site.owner(), "/api/v1/competitions/small/manage/phases/feedback"
    settings = owner.call("GET", path).json()["settings"]
    answer = owner.call("PUT", path, json={**settings, "priority": priorities.ORGANIZERS_MOST + 1})
    assert answer.status_code == 422
    assert str(priorities.ORGANIZERS_MOST) in answer.text
    assert priorities.ORGANIZERS_MOST < priorities.FINAL < priorities.SMOKE


def test_a_worker_gets_only_what_fits_it(site: Site) -> None:
    site.set_version(hardware_class="gpu", image="torch-2022", gpus=1)
    site.member("alice").submit()
    assert site.worker("c").claim() is None
    assert site.worker("g", hardware_class="gpu").claim() is None
    worker = site.worker("i", hardware_class="gpu", images=("torch-2022",))
    assert worker.claim() is None  # no GPU
    full = site.worker("full", hardware_class="gpu", images=("torch-2022",), gpus=("T4",))
    assert full.claim() is not None


def test_a_worker_is_told_how_many_runs_wait_for_a_class_and_how_many_its_token_has(site: Site) -> None:
    """As far as its token reaches: `anyshot worker slurm` starts as many jobs."""
    site.set_phase(quota_day=None, quota_concurrent=None)
    alice = site.member("alice")
    for number in range(3):
        alice.submit(make_zip(salt=f"a{number}"))
    worker, another = site.worker("one"), site.worker("two")
    assert worker.claim()

    def told(hardware_class: str, asking: PaperWorker) -> dict[str, int]:
        answer = asking.call("GET", f"/waiting/{hardware_class}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert told("cpu", worker) == {"waiting": 2, "running": 1}
    assert told("cpu", another) == {"waiting": 2, "running": 0}
    assert told("gpu", worker) == {"waiting": 0, "running": 0}
    reach = Reach(competition_id=waits(site, "other", 1))
    with site.services.database.writing() as session:
        bounded = PaperWorker(site.client, create_worker_token(session, "bounded", reach=reach))
        of_gpus = create_worker_token(session, "of GPUs", reach=Reach(hardware_class="gpu"))
    assert told("cpu", bounded) == {"waiting": 1, "running": 0}
    assert PaperWorker(site.client, of_gpus).call("GET", "/waiting/cpu").status_code == 403


def test_bulk_work_leaves_a_slot(site: Site) -> None:
    site.set_phase(quota_day=None, quota_concurrent=None)
    alice = site.member("alice")
    for number in range(3):
        alice.submit(make_zip(salt=f"a{number}"))
    with site.services.database.writing() as session:
        session.execute(update(Run).values(bulk=True, priority=0))
    workers = [site.worker("one"), site.worker("two")]
    jobs = [worker.claim() for worker in workers]
    jobs.append(workers[1].claim())
    assert [job is not None for job in jobs] == [True, False, False]


def test_a_worker_without_torch_gets_evaluations_and_no_analysis(site: Site) -> None:
    site.member("alice").submit()
    evaluation = only_run(site)
    reports = "/api/v1/competitions/small/manage/reports"
    wish = {"analysis": "audit", "phase": "feedback"}
    assert site.owner().call("POST", reports, json=wish).status_code == 202
    light = site.worker("light", analyses=False)
    assert (light.claim() or {})["run_id"] == evaluation.id
    assert light.claim() is None
    assert (site.worker("full").claim() or {})["kind"] == "analyse"


def test_an_outage_of_the_platform_costs_no_run_an_attempt(site: Site) -> None:
    site.member("alice").submit()
    worker, job = claimed(site)
    let_leases_run_out(site)  # while the platform was away, and no heartbeat arrived
    sweeper = Sweeper(site.services)
    sweeper.start()  # it has not looked at leases for longer than they last
    try:
        deadline = time.monotonic() + 120
        while (run := only_run(site)).lease_expires_at is None or run.lease_expires_at < now():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        sweeper.stop()
    assert run.lease_expires_at < now() + timedelta(seconds=FORGIVEN_SECONDS)
    assert (run.state, run.infrastructure_failures) == (RunState.CLAIMED, 0)
    assert worker.beat(job).status_code == 200
    assert worker.complete(job, 0.5).status_code == 204


def run_in_hand(site: Site, worker: PaperWorker, job: dict[str, Any]) -> bool:
    """Whether the worker still has its run, which was charged with nothing."""
    run = only_run(site)
    return (worker.beat(job).status_code, run.infrastructure_failures, run.workers_lost) == (200, 0, 0)


def test_leases_are_forgiven_although_the_database_failed_once_more(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, job = claimed_and_run_out(site)
    watch = LeaseWatch()
    with monkeypatch.context() as broken:
        broken.setattr(sweeper_module, "forgive_lost", fail_as_a_database)
        with pytest.raises(OperationalError):
            watch.look(site.services)
    watch.look(site.services)
    assert run_in_hand(site, worker, job)


def fail_as_a_database(services: Services) -> int:
    raise OperationalError("UPDATE runs", {}, ConnectionError("the server closed the connection"))


def test_leases_are_forgiven_when_the_clock_was_set_or_the_host_slept(site: Site) -> None:
    """The monotonic clock may stand still then: by the wall clock, by which leases run, half a minute is gone."""
    site.member("alice").submit()
    worker, job = claimed(site)
    moments = iter([(100.0, 5000.0), (102.0, 5032.0)])
    watch = LeaseWatch(lambda: next(moments))
    watch.look(site.services)
    let_leases_run_out(site)
    watch.look(site.services)
    assert run_in_hand(site, worker, job)


def test_after_an_outage_no_sweep_takes_back_what_nobody_has_looked_at(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has the duty of leases at this moment, and has not forgiven them yet."""
    worker, job = claimed_and_run_out(site)
    assert take_duty(site.services, "leases", "another process", 600.0)
    swept = threading.Event()
    monkeypatch.setitem(sweeper_module.SWEEPS, "last", lambda services: swept.set() or 0)
    sweeper = Sweeper(site.services)
    sweeper.start()
    try:
        assert swept.wait(60)
    finally:
        sweeper.stop()
    assert run_in_hand(site, worker, job)


def test_a_dead_worker_is_not_forgiven_twice(site: Site) -> None:
    site.member("alice").submit()
    claimed(site)
    let_leases_run_out(site)
    assert forgive_lost(site.services) == 1
    assert take_back_lost(site.services) == 0
    let_leases_run_out(site)
    assert take_back_lost(site.services) == 1
    assert only_run(site).infrastructure_failures == 1

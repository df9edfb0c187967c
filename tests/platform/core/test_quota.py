"""What a team may still hand in, as its members are told it: the answer to an upload and the quota's own page."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.teams.models import Team
from tests.platform.site import PaperWorker, Person, Site, make_zip

QUOTA = "/api/v1/competitions/small/phases/feedback/quota"


@pytest.fixture
def alice(site: Site) -> Person:
    return site.member("alice")


@pytest.fixture
def worker(site: Site) -> PaperWorker:
    return site.worker()


def used(person: Person) -> dict[str, int]:
    answer = person.call("GET", QUOTA)
    assert answer.status_code == 200, answer.text
    return {name: answer.json()[name]["used"] for name in ("day", "phase", "concurrent", "smoke_day")}


def refusal(person: Person, salt: str = "one more", **wishes: Any) -> str:
    """The words that refuse a further submission; empty where it is taken."""
    answer = person.submit(make_zip(salt=salt), **wishes)
    if answer.status_code == 201:
        return ""
    assert (answer.status_code, answer.json()["error"]) == (429, "quota_used_up")
    return answer.json()["message"]


def evaluate(person: Person, worker: PaperWorker, salt: str, verdict: str | None = None) -> str:
    """Submit, and end the run with a score or a verdict; returns the submission's id."""
    answer = person.submit(make_zip(salt=salt))
    assert answer.status_code == 201, answer.text
    job = worker.claim()
    assert job is not None
    ended = worker.complete(job, 0.5) if verdict is None else worker.fail(job, verdict)
    assert ended.status_code == 204, ended.text
    return answer.json()["id"]


def yesterday(site: Site) -> None:
    """All that was handed in so far was handed in a day ago."""
    with site.services.database.writing() as session:
        session.execute(update(Submission).values(quota_day=(now() - timedelta(days=1)).date()))


def test_the_days_quota_is_full_at_its_limit_and_empty_the_day_after(
    site: Site, alice: Person, worker: PaperWorker
) -> None:
    for number in range(3):
        evaluate(alice, worker, f"{number}")
    assert "today" in refusal(alice)
    yesterday(site)
    assert used(alice) == {"day": 0, "phase": 3, "concurrent": 0, "smoke_day": 0}
    assert refusal(alice) == ""


def test_the_phases_quota_counts_every_day(site: Site, alice: Person, worker: PaperWorker) -> None:
    site.set_phase(quota_phase=2)
    evaluate(alice, worker, "first")
    yesterday(site)
    evaluate(alice, worker, "second")
    assert "this phase" in refusal(alice)


def test_another_teams_submissions_are_not_ours(site: Site, alice: Person, worker: PaperWorker) -> None:
    for number in range(3):
        evaluate(alice, worker, f"{number}")
    bob = site.member("bob")
    assert used(bob) == {"day": 0, "phase": 0, "concurrent": 0, "smoke_day": 0}
    assert refusal(bob, "bob's") == ""


def test_another_phases_submissions_are_not_this_ones(site: Site, alice: Person, worker: PaperWorker) -> None:
    for number in range(3):
        evaluate(alice, worker, f"{number}")
    with site.services.database.writing() as session:
        first = session.get_one(Phase, site.phase_id)
        other = Phase(
            competition_id=first.competition_id,
            slug="final",
            name="Final",
            starts_at=first.starts_at,
            ends_at=first.ends_at,
            quota_day=3,
        )
        session.add(other)
        session.flush()
        session.execute(update(Submission).values(phase_id=other.id))
    assert used(alice) == {"day": 0, "phase": 0, "concurrent": 0, "smoke_day": 0}


@pytest.mark.parametrize("state", ["queued", "claimed", "meta_testing"])
def test_whatever_is_still_evaluated_holds_its_place(
    site: Site, alice: Person, worker: PaperWorker, state: str
) -> None:
    site.set_phase(quota_concurrent=1)
    alice.submit(make_zip(salt="first"))
    job = None if state == "queued" else worker.claim()
    if state == "meta_testing":
        assert job is not None
        worker.beat(job, state)
    assert "still being evaluated" in refusal(alice)
    if state != "queued":
        assert job is not None
        worker.complete(job, 0.5)
        assert refusal(alice) == ""


def test_smoke_tests_have_a_quota_of_their_own_each_day(
    site: Site, alice: Person, worker: PaperWorker
) -> None:
    site.offer_smoke_tests()
    site.set_phase(smoke_quota_day=2)
    for number in range(2):
        assert refusal(alice, f"smoke {number}", smoke=True) == ""
    assert "smoke tests" in refusal(alice, smoke=True)
    assert used(alice) == {"day": 0, "phase": 0, "concurrent": 0, "smoke_day": 2}
    assert refusal(alice, "an entry") == ""
    yesterday(site)
    assert refusal(alice, "the next day", smoke=True) == ""


@pytest.mark.parametrize(("verdict", "cost"), [("IMAGE_MISSING", 0), ("BAD_POOL", 0), ("RUNTIME_ERROR", 1)])
def test_a_smoke_test_that_failed_by_no_fault_of_the_team_costs_none(
    site: Site, alice: Person, worker: PaperWorker, verdict: str, cost: int
) -> None:
    """A broken machine or setting took the smoke tests of the day, though failures of the platform cost nothing."""
    site.offer_smoke_tests()
    site.set_phase(smoke_quota_day=1)
    assert refusal(alice, "first", smoke=True) == ""
    assert used(alice)["smoke_day"] == 1
    while job := worker.claim():
        assert worker.fail(job, verdict).status_code == 204
        with site.services.database.writing() as session:
            session.execute(update(Run).values(available_at=now()))  # the wait before another try is over
    assert used(alice)["smoke_day"] == cost
    assert ("today's smoke tests" in refusal(alice, "second", smoke=True)) == bool(cost)


def test_a_team_may_be_given_more(site: Site, alice: Person, worker: PaperWorker) -> None:
    with site.services.database.writing() as session:
        session.execute(update(Team).values(extra_quota_day=1))
    for number in range(4):
        evaluate(alice, worker, f"{number}")
    assert "today" in refusal(alice)


@pytest.mark.parametrize(
    ("verdict", "charged", "reason"),
    [
        ("RUNTIME_ERROR", True, ""),
        ("TIME_LIMIT", True, ""),
        ("BAD_SETTINGS", False, "not your doing"),  # the organizers'
    ],
)
def test_who_answers_for_a_failure_pays_for_it(
    site: Site, alice: Person, worker: PaperWorker, verdict: str, charged: bool, reason: str
) -> None:
    submission_id = evaluate(alice, worker, "fails", verdict)
    assert used(alice)["day"] == used(alice)["phase"] == int(charged)
    shown = alice.call("GET", f"/api/v1/submissions/{submission_id}").json()
    assert shown["counts_quota"] is charged
    assert site.submission(submission_id).quota_reason == reason


@pytest.mark.parametrize(("verdict", "cost"), [("RUNTIME_ERROR", 0), ("MEMORY_LIMIT", 1)])
@pytest.mark.parametrize("smoke", [False, True])
def test_an_error_before_the_first_training_step_costs_nothing(
    site: Site, alice: Person, worker: PaperWorker, smoke: bool, verdict: str, cost: int
) -> None:
    site.offer_smoke_tests()
    assert refusal(alice, "wrong import", smoke=smoke) == ""
    job = worker.claim()
    assert job is not None and worker.fail(job, verdict, before_training=True).status_code == 204
    assert used(alice)["smoke_day" if smoke else "day"] == cost
    (shown,) = alice.call("GET", "/api/v1/submissions").json()["items"]
    page = alice.call("GET", f"/submissions/{shown['id']}", headers={"accept": "text/html"}).text
    assert ("before its first training step, which costs nothing" in page) is not bool(cost)


@pytest.mark.parametrize("counts", [True, False])
def test_a_cancellation_counts_where_the_phase_says_so(site: Site, alice: Person, counts: bool) -> None:
    site.set_phase(cancelled_counts=counts)
    submission_id = alice.submit().json()["id"]
    assert alice.call("POST", f"/api/v1/submissions/{submission_id}/cancel").status_code == 200
    assert used(alice)["day"] == int(counts)


def test_a_withdrawn_submission_costs_what_it_cost(site: Site, alice: Person, worker: PaperWorker) -> None:
    site.set_phase(quota_day=1)
    withdrawn = evaluate(alice, worker, "only one")
    assert alice.call("POST", f"/api/v1/submissions/{withdrawn}/withdraw").status_code == 200
    assert (used(alice)["day"], used(alice)["phase"]) == (1, 1)
    assert "used today's submissions" in refusal(alice)


def act(site: Site, submission_id: str, name: str, reason: str = "") -> None:
    """The owner of the competition acts on a submission."""
    path = "/api/v1/competitions/small/manage/submissions/acts"
    wish = {"act": name, "ids": [submission_id], "reason": reason}
    done = site.owner().call("POST", path, json=wish)
    assert done.json()["done"] == [submission_id], done.text


@pytest.mark.parametrize("running", [True, False])
def test_a_cancellation_by_organizers_costs_the_team_nothing(
    site: Site, alice: Person, worker: PaperWorker, running: bool
) -> None:
    submission_id = alice.submit().json()["id"]
    job = worker.claim() if running else None
    act(site, submission_id, "cancel")
    if job is not None:
        assert worker.beat(job).json()["cancel"] is True
        assert worker.fail(job, "CANCELLED").status_code == 204
    shown = alice.call("GET", f"/api/v1/submissions/{submission_id}").json()
    assert (shown["status"], shown["counts_quota"]) == ("cancelled", False)
    assert shown["quota_reason"] == "not your doing"
    assert used(alice)["day"] == 0


def test_quota_that_organizers_gave_back_stays_given_back(
    site: Site, alice: Person, worker: PaperWorker
) -> None:
    submission_id = evaluate(alice, worker, "slow disk")
    act(site, submission_id, "refund", "a slow disk of ours")
    act(site, submission_id, "rerun")
    job = worker.claim()
    assert job is not None
    assert worker.complete(job, 0.6).status_code == 204
    shown = alice.call("GET", f"/api/v1/submissions/{submission_id}").json()
    assert (shown["status"], shown["counts_quota"]) == ("finished", False)
    assert shown["quota_reason"] == "a slow disk of ours"
    assert used(alice)["phase"] == 0


def test_quota_that_organizers_charged_stays_charged(site: Site, alice: Person, worker: PaperWorker) -> None:
    submission_id = evaluate(alice, worker, "settings", "BAD_SETTINGS")
    act(site, submission_id, "charge", "its config asked for it")
    act(site, submission_id, "rerun")
    job = worker.claim()
    assert job is not None
    worker.fail(job, "BAD_SETTINGS")
    assert used(alice)["phase"] == 1

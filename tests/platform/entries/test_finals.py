"""The final phase takes one entry a team and league, whatever is repeated."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.contest.leagues.models import Gate, League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.states import BoardShows, PhaseKind
from anyshot_platform.foundation.database import now
from anyshot_platform.people.teams.models import Team
from anyshot_platform.server.sweeper import sweep
from tests.platform.admin.results import finish_with_scores, work_off
from tests.platform.admin.test_manage import flash, page, post
from tests.platform.entries.test_entries import names, scored
from tests.platform.site import SLUG, PaperWorker, Person, Site, make_zip

FINAL = "/api/v1/competitions/small/manage/phases/final/final"


@pytest.fixture
def final(site: Site) -> Site:
    """A site with a final phase, as `add_final` makes it."""
    add_final(site)
    return site


def add_final(site: Site) -> None:
    """A final phase of two seeded runs behind a gate of 0.3 in the league that is open to all."""
    with site.services.database.writing() as session:
        feedback = session.get_one(Phase, site.phase_id)
        source = feedback.versions[0]
        phase = Phase(
            competition_id=feedback.competition_id,
            slug="final",
            name="Final",
            kind=PhaseKind.FINAL,
            starts_at=now() - timedelta(hours=1),
            ends_at=now() + timedelta(days=30),
            accepts_uploads=False,
            position=1,
            gate_phase_id=feedback.id,
        )
        phase.versions = [
            PhaseVersion(
                number=1,
                meta_train_pool_version_id=source.meta_train_pool_version_id,
                meta_test_pool_version_id=source.meta_test_pool_version_id,
                protocol={"name": "any_way_any_shot"},
                tasks=10,
                train_seeds=[1, 2],
                test_seeds=[3, 4],
                run_seconds=600.0,
            )
        ]
        session.add(phase)
        session.flush()
        free = session.query(League).filter_by(slug="free").one()
        session.add(Gate(phase_id=phase.id, league_id=free.id, score=0.3))


def end_feedback(site: Site) -> None:
    site.set_phase(ends_at=now() - timedelta(minutes=1))


def preview(owner: Person) -> dict[str, dict[str, Any]]:
    answer = owner.call("GET", FINAL)
    assert answer.status_code == 200, answer.text
    return {row["team"]: row for row in answer.json()}


def launch(owner: Person, **body: Any) -> list[str]:
    said = {"confirm": "final", "override": True, **body}  # whatever of the feedback phase still runs
    answer = owner.call("POST", f"{FINAL}/acts/launch", json=said)
    assert answer.status_code == 200, answer.text
    return answer.json()["submissions"]


def test_a_report_on_the_final_board_compares_it_with_the_feedback_phase(final: Site, tmp_path: Path) -> None:
    """ada led the feedback phase and lost the final by 0.2: what trusting that would have cost."""
    worker, owner = final.worker(), final.owner()
    for name, score in (("ada", 0.9), ("bob", 0.5)):
        scored(worker, final.member(name), score)
    end_feedback(final)
    launch(owner)
    for _ in range(4):
        job = worker.claim()
        assert job is not None
        level = 0.4 if job["submission_name"].startswith("ada") else 0.6
        finish_with_scores(worker, job, {"alpha": level, "beta": level + 0.1})
    reports = "/api/v1/competitions/small/manage/reports"
    wish = {"analysis": "flips", "phase": "final", "settings": {"replicates": 1000}}
    report = owner.call("POST", reports, json=wish).json()["id"]
    assert work_off(final, tmp_path) == 1
    found = owner.call("GET", f"{reports}/{report}").json()["result"]["result"]["feedback"]
    assert (found["submissions"], found["tau"]) == (2, -1.0)
    assert found["cost"] == pytest.approx(0.2)


def test_what_waits_in_a_phase_with_uploads_of_its_own_is_published_on_the_page(site: Site) -> None:
    """No page had the button: scores, prizes, pools and the key waited for ever."""
    owner, worker, ada = site.owner(), site.worker(), site.member("ada")
    where, tab = "/competitions/small/manage/final", "/competitions/small/results"
    assert "No final phase" in page(owner, where).text
    site.set_phase(needs_publishing=True)
    with site.services.database.writing() as session:
        session.query(League).filter_by(slug="free").one().awards = [400.0]
    scored(worker, ada, 0.5)
    for kind in (PhaseKind.FINAL, PhaseKind.FEEDBACK):
        site.set_phase(kind=kind)
        shown = " ".join(page(owner, where).text.split())
        assert "Results of Feedback: look at its boards, then publish." in shown and "Enter now" not in shown
    warned = "The phase still takes uploads"
    asked = post(owner, f"{where}/feedback/publish").text
    assert warned in asked and "nobody has verified who ada is" in asked
    end_feedback(site)
    assert warned not in post(owner, f"{where}/feedback/publish").text
    assert "noted as verified" in flash(
        post(owner, f"{where}/feedback/winners/ada", identity="verified", reason="a call")
    )
    assert tab not in page(ada, "/competitions/small").text
    assert f"{where}/feedback/publish" in page(owner, where).text
    done = post(owner, f"{where}/feedback/publish", confirm="feedback")
    assert flash(done) == "The results are public."
    assert tab in page(ada, "/competitions/small").text and "ada" in page(ada, tab).text
    assert "certificates" in page(ada, tab).text
    assert f"{where}/feedback/unpublish" in page(owner, where).text
    hidden = "The results are hidden again. The messages that went out cannot be called back."
    assert flash(post(owner, f"{where}/feedback/unpublish")) == hidden
    assert page(ada, tab).status_code == 403


def test_a_phase_that_nobody_entered_can_be_published_once_it_is_over(site: Site) -> None:
    """Its data and its key wait for that, too."""
    owner, where = site.owner(), "/competitions/small/manage/final"
    site.set_phase(needs_publishing=True)
    assert f"{where}/feedback/publish" not in page(owner, where).text
    end_feedback(site)
    assert f"{where}/feedback/publish" in page(owner, where).text
    assert "the boards are empty" in post(owner, f"{where}/feedback/publish").text


def test_before_a_launch_its_time_is_said_as_people_say_it_and_nobody_is_counted_as_none(final: Site) -> None:
    worker, owner = final.worker(), final.owner()
    scored(worker, final.member("high"), 0.5)
    assert looked(owner)["does"] == [
        "Queued: 1 entry, each 2 times; that is 2 runs of 10 tasks, at most 10 min each."
    ]
    scored(worker, final.member("low"), 0.3)
    assert looked(owner)["does"][1:] == ["1 team does not enter; the preview says why."]


SEEN = "Participants see scores and ranks as soon as they are there, and get e-mails"
UNSEEN = "Nobody but organizers sees anything before you publish."


@pytest.mark.parametrize("waits", [False, True])
def test_who_launches_is_told_what_participants_see_before_the_results_are_published(
    final: Site, waits: bool
) -> None:
    """The page promised that nobody sees anything; the mails of a phase that does not wait had scores and ranks."""
    with final.services.database.writing() as session:
        session.query(Phase).filter_by(slug="final").one().needs_publishing = waits
    worker, owner, ada = final.worker(), final.owner(), final.member("ada")
    scored(worker, ada, 0.5)
    page = final.client.get(
        "/competitions/small/manage/final", headers=owner.headers | {"accept": "text/html"}
    )
    assert (UNSEEN in page.text, SEEN in page.text) == (waits, not waits)
    assert [one.startswith(SEEN) for one in looked(owner)["warnings"]] == [True] * (not waits)
    launch(owner)
    finish_with_scores(worker, worker.claim() or {}, {"alpha": 0.6})
    finish_with_scores(worker, worker.claim() or {}, {"alpha": 0.6})
    told = ada.call("GET", "/api/v1/notifications").json()[0]
    assert told["title"].startswith("Final entry submission.zip is scored") and (
        "0.600" in told["title"]
    ) == (not waits)


def looked(owner: Person) -> dict[str, Any]:
    """What a launch would do, as its page says it; while the feedback phase is open it asks first."""
    return owner.call("POST", f"{FINAL}/acts/launch", json={}).json()["preview"]


def test_members_read_that_the_final_phase_asks_nothing_of_them(final: Site) -> None:
    ada = final.member("ada")
    sweep(final.services)
    told = {row["title"]: row for row in ada.call("GET", "/api/v1/notifications").json()}
    opened = told["A small competition: Final is open"]
    assert opened["body"] == "Its entries come from Feedback: you upload nothing."
    assert opened["url"] == "/competitions/small/phases/final"
    assert ada.call("GET", opened["url"]).status_code == 200


def test_the_last_submission_enters_not_the_first(final: Site) -> None:
    worker, ada, owner = final.worker(), final.member("ada"), final.owner()
    scored(worker, ada, 0.9)
    last = scored(worker, ada, 0.4)
    end_feedback(final)
    row = preview(owner)["ada"]
    assert (row["submission"], row["leagues"]) == (last, ["free"])


def test_why_a_team_stays_out_of_a_final_is_said(final: Site) -> None:
    worker, owner = final.worker(), final.owner()
    people = {name: final.member(name) for name in ("banned", "gone", "outside", "fine")}
    for name, person in people.items():
        scored(worker, person, 0.5 + len(name) / 100)
    end_feedback(final)
    with final.services.database.writing() as session:
        mine = {
            name: session.query(Membership).filter_by(user_id=person.id).one()
            for name, person in people.items()
        }
        mine["banned"].status, mine["gone"].status = MemberStatus.BANNED, MemberStatus.PENDING
        session.get_one(Team, mine["outside"].team_id).out_of_ranking = True
    found = preview(owner)
    assert {name: (row["enters"], row["reasons"]) for name, row in found.items()} == {
        "banned": (False, ["a member is banned"]),
        "gone": (False, ["nobody of the team takes part any more"]),
        "outside": (False, ["out of the ranking"]),
        "fine": (True, []),
    }
    assert len(launch(owner)) == 1


def test_the_last_submission_above_the_gate_stands_where_the_phase_counts_so(final: Site) -> None:
    final.set_phase(board_shows=BoardShows.LAST_ABOVE_GATE)
    worker, owner = final.worker(), final.owner()
    ada, low = final.member("ada"), final.member("low")
    for score in (0.6, 0.3):
        scored(worker, low, score - 0.4)
    for score in (0.6, 0.4, 0.3):  # the gate itself does not beat the gate
        scored(worker, ada, score)
    assert names(final, "free") == [("ada", 0.4), ("low", pytest.approx(-0.1))]  # without any, the last
    (entry,) = ada.call("GET", "/api/v1/competitions/small/phases/feedback/entries").json()
    assert entry["choice"] == "above_gate"
    end_feedback(final)
    found = preview(owner)
    assert (found["ada"]["enters"], found["low"]["enters"]) == (True, False)


def test_the_gate_is_drawn_on_the_board_that_it_leads_out_of_alone(final: Site) -> None:
    """It stood on the final's own board, whose rows it called not above the gate."""
    worker, owner = final.worker(), final.owner()
    scored(worker, final.member("ada"), 0.4)
    end_feedback(final)
    launch(owner)
    for _ in range(2):
        job = worker.claim()
        assert job is not None
        assert worker.complete(job, 0.2).status_code == 204
    board = f"/competitions/{SLUG}/leaderboard?league=free&phase="
    shown = {phase: page(owner, board + phase).text for phase in ("feedback", "final")}
    assert "Gate into the final phase: 0.300" in shown["feedback"] and "Above the gate" in shown["feedback"]
    assert "0.200" in shown["final"] and "gate" not in shown["final"].lower()


def ended_with_a_late_one(final: Site) -> tuple[Person, PaperWorker, str, dict[str, Any]]:
    """Feedback is over, ada's no. 1 stands, her no. 2 still runs: owner, worker, no. 2 and its job."""
    worker, ada = final.worker(), final.member("ada")
    scored(worker, ada, 0.5)
    made = ada.submit(make_zip(salt="late")).json()["id"]
    late = worker.claim()
    assert late is not None
    end_feedback(final)
    return final.owner(), worker, made, late


def test_repeating_a_launch_gives_nobody_a_second_entry(final: Site) -> None:
    """A submission that was uploaded in time and finishes after the launch is offered, not added."""
    owner, worker, made, late = ended_with_a_late_one(final)
    (entered,) = launch(owner)
    worker.complete(late, 0.6)
    row = preview(owner)["ada"]
    assert (row["submission"], row["replaces"]) == (made, entered)
    assert row["reasons"] == ["Free style: launched with no. 1 (0.500); no. 2 (0.600) stands now"]
    assert launch(owner) == []
    (replaced,) = launch(owner, replace=[row["team_id"]])
    after = preview(owner)["ada"]
    assert (after["submission"], after["launched"], after["replaces"]) == (made, True, None)
    old = owner.call("GET", f"/api/v1/submissions/{entered}").json()
    assert (old["status"], replaced != entered) == ("cancelled", True)


@pytest.mark.parametrize("claimed", [0, 2], ids=["queued", "running"])
def test_an_entry_that_gave_way_is_evaluated_when_it_stands_again(final: Site, claimed: int) -> None:
    """The launch said that one entry was queued, and nothing ran: its runs had been cancelled when it gave way."""
    owner, worker, made, late = ended_with_a_late_one(final)
    (first,) = launch(owner)
    for _ in range(claimed):
        assert worker.claim()  # told of its cancellation by the next heartbeat, which does not come
    worker.complete(late, 0.6)
    team = preview(owner)["ada"]["team_id"]
    (second,) = launch(owner, replace=[team])
    acts = "/api/v1/competitions/small/manage/submissions/acts"
    owner.call("POST", acts, json={"act": "disqualify", "ids": [made], "reason": "two accounts"})
    assert launch(owner, replace=[team]) == [first]
    assert owner.call("GET", f"/api/v1/submissions/{first}").json()["status"] == "queued"
    jobs = [worker.claim(), worker.claim()]
    assert [job and job["submission_id"] for job in jobs] == [first, first]
    for job in jobs:
        assert job is not None and worker.complete(job, 0.7).status_code == 204
    path = "/api/v1/competitions/small/phases/final/leaderboard"
    assert [(row["team"], row["score"]) for row in owner.call("GET", path).json()["rows"]] == [("ada", 0.7)]
    assert owner.call("GET", f"/api/v1/submissions/{second}").json()["status"] == "cancelled"
    assert owner.call("GET", f"{FINAL}/failed").json() == []


def test_code_that_failed_before_its_entry_gave_way_is_not_tried_again(final: Site) -> None:
    owner, worker, made, late = ended_with_a_late_one(final)
    (first,) = launch(owner)
    jobs = [worker.claim(), worker.claim()]
    worker.complete(late, 0.6)
    assert jobs[0] is not None
    worker.fail(jobs[0], "RUNTIME_ERROR")
    team = preview(owner)["ada"]["team_id"]
    launch(owner, replace=[team])
    acts = "/api/v1/competitions/small/manage/submissions/acts"
    owner.call("POST", acts, json={"act": "disqualify", "ids": [made], "reason": "two accounts"})
    launch(owner, replace=[team])
    assert worker.claim() is None
    assert jobs[1] is not None and worker.fail(jobs[1], "CANCELLED").status_code == 204
    assert owner.call("GET", f"/api/v1/submissions/{first}").json()["status"] == "failed"


def test_to_cancel_a_final_entry_changes_no_quota_and_its_page_says_so(final: Site) -> None:
    worker, ada = final.worker(), final.member("ada")
    scored(worker, ada, 0.5)
    end_feedback(final)
    (entered,) = launch(final.owner())
    seen = ada.call("GET", f"/submissions/{entered}").text
    assert "Cancelling it does not change your quota." in seen
    assert "counts towards your quota" not in seen


def test_an_entry_of_the_final_that_was_deleted_can_be_launched_again(final: Site) -> None:
    worker, ada, owner = final.worker(), final.member("ada"), final.owner()
    scored(worker, ada, 0.9)
    end_feedback(final)
    (made,) = launch(owner)
    assert preview(owner)["ada"]["launched"]
    body = {"act": "delete", "ids": [made], "reason": ""}
    owner.call("POST", "/api/v1/competitions/small/manage/submissions/acts", json=body)
    assert not preview(owner)["ada"]["launched"]
    assert len(launch(owner)) == 1

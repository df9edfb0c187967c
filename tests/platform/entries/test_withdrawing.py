"""What a team takes off the boards: while the phase is open, and when it has closed."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from anyshot_platform.contest.phases.models import PhaseExtension
from anyshot_platform.contest.phases.states import BoardShows
from anyshot_platform.foundation.database import now
from anyshot_platform.people.teams.models import Team
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.entries.test_entries import ENTRIES, names, scored
from tests.platform.entries.test_finals import end_feedback, final, preview
from tests.platform.site import SLUG, PaperWorker, Person, Site, make_zip

__all__ = ["final"]
LEAGUES = "/competitions/small/leagues"
FOR_GOOD = "this is for good, and no other submission of your team takes its place"
CLOSED = "“Feedback” is closed: what was withdrawn stays withdrawn."


@pytest.fixture
def worker(site: Site) -> PaperWorker:
    return site.worker()


def withdraw(person: Person, submission: str) -> None:
    answer = person.call("POST", f"/api/v1/submissions/{submission}/withdraw")
    assert (answer.status_code, answer.json()["withdrawn"]) == (200, True)


def states(person: Person) -> list[tuple[str, int, str]]:
    return [(row["league"], row["number"], row["state"]) for row in person.call("GET", ENTRIES).json()]


def test_while_the_phase_is_open_an_earlier_one_moves_up_and_it_can_be_put_back(
    site: Site, worker: PaperWorker
) -> None:
    ada = site.member("ada")
    first = scored(worker, ada, 0.9)
    last = scored(worker, ada, 0.2)
    assert "#1 is on no leaderboard" in page(ada, f"/submissions/{first}/withdraw").text
    asked = page(ada, f"/submissions/{last}/withdraw").text
    assert "You can put it back while the phase is open." in asked and FOR_GOOD not in asked
    assert post(ada, f"/submissions/{last}/withdraw").status_code == 303
    assert names(site, "free") == [("ada", 0.9)]
    assert "Restore" in page(ada, f"/submissions/{last}").text
    assert post(ada, f"/submissions/{last}/restore").status_code == 303
    assert names(site, "free") == [("ada", 0.2)]
    withdraw(ada, last)
    back = ada.call("POST", f"/api/v1/submissions/{last}/restore")
    assert (back.status_code, back.json()["withdrawn"]) == (200, False)
    assert names(site, "free") == [("ada", 0.2)]


def test_a_team_withdraws_where_it_sees_no_scores(site: Site, worker: PaperWorker) -> None:
    site.set_phase(scores_visible=False)
    ada = site.member("ada")
    only = scored(worker, ada, 0.9)
    assert "Withdraw #" in page(ada, f"/submissions/{only}").text
    assert post(ada, f"/submissions/{only}/withdraw").status_code == 303
    assert states(ada) == [("free", 1, "withdrawn")]
    failed = ada.submit(make_zip(salt="fails")).json()["id"]
    job = worker.claim()
    assert job is not None and worker.fail(job, "RUNTIME_ERROR").status_code == 204
    assert "Withdraw #" not in page(ada, f"/submissions/{failed}").text


def test_after_the_close_withdrawing_the_last_moves_no_better_one_up(site: Site, worker: PaperWorker) -> None:
    """Else a team would look at its scores and turn `the last counts` into `the best counts`."""
    ada = site.member("ada")
    scored(worker, ada, 0.9)
    last = scored(worker, ada, 0.2)
    end_feedback(site)
    assert FOR_GOOD in page(ada, f"/submissions/{last}/withdraw").text
    withdraw(ada, last)
    assert names(site, "free") == []
    assert states(ada) == [("free", 2, "withdrawn")]
    shown = page(ada, f"/submissions/{last}").text
    assert "Restore" not in shown and "it stays off" in shown
    refused = ada.call("POST", f"/api/v1/submissions/{last}/restore")
    assert (refused.status_code, refused.json()["error"]) == (409, "phase_not_open")
    assert CLOSED in refused.json()["message"]
    assert CLOSED in page_of_refusal(ada, last)
    assert names(site, "free") == []


def test_a_team_with_more_time_withdraws_and_chooses_until_its_own_end(
    site: Site, worker: PaperWorker
) -> None:
    site.set_phase(team_chooses=True)
    ada, bob = site.member("ada"), site.member("bob")
    made = {
        person.username: (scored(worker, person, 0.9), scored(worker, person, 0.2)) for person in (ada, bob)
    }
    end_feedback(site)
    with site.services.database.writing() as session:
        team = session.scalars(select(Team).where(Team.name == "ada")).one()
        until = now() + timedelta(hours=1)
        session.add(PhaseExtension(phase_id=site.phase_id, team_id=team.id, until=until))
    assert [row["number"] for row in ada.call("GET", ENTRIES).json()[0]["choices"]] == [2, 1]
    assert bob.call("GET", ENTRIES).json()[0]["choices"] == []
    for person in (ada, bob):
        withdraw(person, made[person.username][1])
    assert names(site, "free") == [("ada", 0.9)]
    assert ada.call("POST", f"/api/v1/submissions/{made['ada'][1]}/restore").status_code == 200
    assert bob.call("POST", f"/api/v1/submissions/{made['bob'][1]}/restore").status_code == 409
    assert names(site, "free") == [("ada", 0.2)]


def page_of_refusal(person: Person, submission: str) -> str:
    answer = post(person, f"/submissions/{submission}/restore")
    assert answer.status_code == 409
    return answer.text


def test_closing_once_more_does_not_move_the_close_behind_a_withdrawal(
    site: Site, worker: PaperWorker
) -> None:
    ada = site.member("ada")
    site.set_phase(ends_at=None)
    scored(worker, ada, 0.9)
    last = scored(worker, ada, 0.2)
    post(site.owner(), f"{BASE}/phases/feedback/close")
    withdraw(ada, last)
    post(site.owner(), f"{BASE}/phases/feedback/close")
    site.owner().call("POST", f"/api/v1/competitions/{SLUG}/manage/phases/feedback/acts/close")
    rerun = {"act": "rescore", "ids": [last]}  # whatever refreshes the board
    site.owner().call("POST", f"/api/v1/competitions/{SLUG}/manage/submissions/acts", json=rerun)
    site.owner().call("POST", f"/api/v1/competitions/{SLUG}/manage/phases/feedback/acts/freeze")
    site.owner().call("POST", f"/api/v1/competitions/{SLUG}/manage/phases/feedback/acts/unfreeze")
    assert names(site, "free") == []


def test_withdrawing_before_and_restoring_after_the_close_is_refused(site: Site, worker: PaperWorker) -> None:
    ada = site.member("ada")
    scored(worker, ada, 0.2)
    best = scored(worker, ada, 0.9)
    withdraw(ada, best)
    end_feedback(site)
    assert CLOSED in page_of_refusal(ada, best)
    assert names(site, "free") == [("ada", 0.2)]


def test_what_was_withdrawn_after_the_close_enters_no_final(final: Site) -> None:
    worker, ada, owner = final.worker(), final.member("ada"), final.owner()
    scored(worker, ada, 0.9)
    last = scored(worker, ada, 0.4)
    end_feedback(final)
    assert preview(owner)["ada"]["submission"] == last
    withdraw(ada, last)
    row = preview(owner)["ada"]
    assert not row["enters"] and "withdrew" in " ".join(row["reasons"]), row


def test_what_was_withdrawn_before_the_close_leaves_its_place_to_the_one_before_it_for_good(
    final: Site,
) -> None:
    """Also when the choice is made anew after the close."""
    worker, ada, owner = final.worker(), final.member("ada"), final.owner()
    first, second, last = (scored(worker, ada, mean) for mean in (0.9, 0.7, 0.4))
    withdraw(ada, last)
    final.set_phase(ends_at=now())
    withdraw(ada, first)
    row = preview(owner)["ada"]
    assert row["enters"] and row["submission"] == second, row


def test_a_phase_that_opens_again_gives_the_choice_back(site: Site, worker: PaperWorker) -> None:
    ada = site.member("ada")
    last = scored(worker, ada, 0.2)
    end_feedback(site)
    withdraw(ada, last)
    site.set_phase(ends_at=now() + timedelta(days=1))
    assert flash(post(ada, f"/submissions/{last}/restore")) == "It is back on the leaderboard."
    assert names(site, "free") == [("ada", 0.2)]


def test_after_the_close_a_team_cannot_cancel_what_it_uploaded_in_time(
    site: Site, worker: PaperWorker
) -> None:
    """Else it would look at how the last one runs, and let an earlier one stand: the choice ends with the phase."""
    ada = site.member("ada")
    scored(worker, ada, 0.9)
    last = ada.submit(make_zip(salt="last")).json()["id"]
    job = worker.claim()
    assert job is not None
    assert "Cancel" in page(ada, f"/submissions/{last}").text
    end_feedback(site)
    shown = page(ada, f"/submissions/{last}").text
    assert f"/submissions/{last}/cancel" not in shown
    assert "The phase has closed: this upload counts, and cannot be cancelled." in shown
    refused = ada.call("POST", f"/api/v1/submissions/{last}/cancel")
    assert (refused.status_code, refused.json()["error"]) == (409, "phase_not_open")
    assert "“Feedback” is closed: what was uploaded in time is your team's choice" in flash(
        post(ada, f"/submissions/{last}/cancel")
    )
    assert worker.complete(job, 0.2).status_code == 204
    assert names(site, "free") == [("ada", 0.2)]


def test_while_the_phase_is_open_a_team_cancels_and_the_earlier_one_stands(
    site: Site, worker: PaperWorker
) -> None:
    ada = site.member("ada")
    scored(worker, ada, 0.9)
    last = ada.submit(make_zip(salt="last")).json()["id"]
    assert ada.call("POST", f"/api/v1/submissions/{last}/cancel").json()["status"] == "cancelled"
    assert names(site, "free") == [("ada", 0.9)]


def test_after_the_close_organizers_cancel_what_hangs_and_teams_their_smoke_tests(
    site: Site, worker: PaperWorker
) -> None:
    ada = site.member("ada")
    site.offer_smoke_tests()
    last, smoke = (ada.submit(make_zip(salt=str(test)), smoke=test).json()["id"] for test in (False, True))
    end_feedback(site)
    assert ada.call("POST", f"/api/v1/submissions/{smoke}/cancel").status_code == 200
    body = {"act": "cancel", "ids": [last]}
    done = site.owner().call("POST", f"/api/v1/competitions/{SLUG}/manage/submissions/acts", json=body)
    assert done.json()["done"] == [last]


def test_a_worse_entry_offers_to_withdraw_it_and_what_stands_again(site: Site, worker: PaperWorker) -> None:
    ada = site.member("ada")
    site.set_phase(quota_day=10)
    scored(worker, ada, 0.9)
    best = scored(worker, ada, 0.95)
    later = [scored(worker, ada, mean) for mean in (0.4, 0.2)]
    offer = "Withdraw #3 and #4, and #2 (0.950) stands again"
    assert offer in page(ada, f"/submissions/{later[-1]}").text
    assert offer not in page(ada, f"/submissions/{best}").text
    assert offer in page(ada, LEAGUES).text
    asked = page(ada, f"/submissions/{later[-1]}/withdraw").text
    assert "Withdraw #4?" in asked and "Free style: #3 (0.400) stands again." in asked
    (entry,) = ada.call("GET", ENTRIES).json()
    assert entry["better"]["withdraw"] == later and entry["better"]["submission"] == best
    gone = post(ada, f"{LEAGUES}/withdraw", phase="feedback", submission=later)
    assert flash(gone).startswith("Withdrawn: #3, #4.")
    assert names(site, "free") == [("ada", 0.95)]
    assert "stands again" not in page(ada, LEAGUES).text


def test_several_are_withdrawn_in_one_act_over_json_and_only_ones_own(
    site: Site, worker: PaperWorker
) -> None:
    ada, ben = site.member("ada"), site.member("ben")
    scored(worker, ada, 0.9)
    later = [scored(worker, ada, mean) for mean in (0.4, 0.2)]
    refused = ben.call("POST", f"{ENTRIES}/withdrawals", json={"submissions": later})
    assert refused.status_code == 404 and names(site, "free") == [("ada", 0.2)]
    (entry,) = ada.call("POST", f"{ENTRIES}/withdrawals", json={"submissions": later}).json()
    assert (entry["number"], entry["score"], entry["better"]) == (1, 0.9, None)


def test_a_withdrawal_names_what_it_changes_in_other_leagues(site: Site, worker: PaperWorker) -> None:
    ada = site.member("ada")
    scored(worker, ada, 0.9)
    scored(worker, ada, 0.4, leagues=["free", "scratch"])
    entry = next(one for one in ada.call("GET", ENTRIES).json() if one["league"] == "free")
    assert entry["better"]["others"].endswith("your team has no entry then.")


def test_hidden_scores_are_not_told_by_what_could_be_withdrawn(site: Site, worker: PaperWorker) -> None:
    ada = site.member("ada")
    scored(worker, ada, 0.9)
    last = scored(worker, ada, 0.2)
    site.set_phase(scores_visible=False)
    assert ada.call("GET", ENTRIES).json()[0]["better"] is None
    assert "A better submission" not in page(ada, f"/submissions/{last}").text
    asked = page(ada, f"/submissions/{last}/withdraw").text
    assert "#1 stands again." in asked and "0.900" not in asked
    site.set_phase(board_shows=BoardShows.BEST)
    assert "#1" not in page(ada, f"/submissions/{last}/withdraw").text


def test_nothing_is_offered_where_nothing_moves_up(site: Site, worker: PaperWorker) -> None:
    ada = site.member("ada")
    scored(worker, ada, 0.9)
    scored(worker, ada, 0.2)
    for kept in ({"frozen_at": now()}, {"frozen_at": None, "ends_at": now() - timedelta(minutes=1)}):
        site.set_phase(**kept)
        assert ada.call("GET", ENTRIES).json()[0]["better"] is None


def test_where_the_team_chooses_the_better_one_is_chosen(site: Site, worker: PaperWorker) -> None:
    ada = site.member("ada")
    scored(worker, ada, 0.9)
    last = scored(worker, ada, 0.2)
    site.set_phase(team_chooses=True)
    shown = page(ada, f"/submissions/{last}").text
    assert "#1 (0.900) ranks higher. Your team can choose it" in shown and "Withdraw #2, and" not in shown

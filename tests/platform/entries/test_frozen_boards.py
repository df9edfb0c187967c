"""A frozen board shows what stood when it was frozen, less what was withdrawn, disqualified or deleted."""

import csv
import io
import re

import pytest

from anyshot_platform.standings.baselines.models import Baseline
from tests.platform.admin.results import finish_with_scores
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.core.test_people import mails
from tests.platform.entries.test_entries import names, scored
from tests.platform.site import SLUG, PaperWorker, Person, Site

MANAGE = f"/api/v1/competitions/{SLUG}/manage"


@pytest.fixture
def worker(site: Site) -> PaperWorker:
    return site.worker()


def freeze(site: Site, act_name: str = "freeze") -> None:
    answer = site.owner().call("POST", f"{MANAGE}/phases/feedback/acts/{act_name}", json={})
    assert answer.status_code == 200, answer.text


def act(site: Site, act_name: str, *ids: str) -> None:
    body = {"act": act_name, "ids": list(ids), "reason": "two accounts"}
    answer = site.owner().call("POST", f"{MANAGE}/submissions/acts", json=body)
    assert answer.status_code == 200 and not answer.json()["skipped"], answer.text


def withdraw(person: Person, submission: str, undo: bool = False) -> None:
    answer = person.call("POST", f"/api/v1/submissions/{submission}/{'restore' if undo else 'withdraw'}")
    assert answer.status_code == 200, answer.text


def exported(site: Site) -> list[str]:
    text = page(site.owner(), f"{BASE}/exports/leaderboards.csv").text
    return [row["team"] for row in csv.DictReader(io.StringIO(text)) if row["league"] == "free"]


def test_what_is_scored_after_freezing_waits_until_the_board_catches_up(
    site: Site, worker: PaperWorker
) -> None:
    ada, bob = site.member("ada"), site.member("bob")
    scored(worker, ada, 0.5)
    freeze(site)
    scored(worker, ada, 0.9)
    scored(worker, bob, 0.7)
    assert names(site, "free") == [("ada", 0.5)]
    shown = page(ada, f"/competitions/{SLUG}/leaderboard").text
    note = "new scores do not appear on it. Withdrawn or disqualified entries are removed"
    upload = f"/competitions/{SLUG}/phases/feedback/submit"
    assert note in shown and note in page(ada, upload).text
    freeze(site, "unfreeze")
    assert names(site, "free") == [("ada", 0.9), ("bob", 0.7)]
    assert note not in page(ada, upload).text


def test_a_new_entry_has_no_rank_while_an_older_one_stands_on_the_frozen_board(
    site: Site, worker: PaperWorker
) -> None:
    """The rank of the older one was told of it, in its mail, on its page and in JSON."""
    ada, bob = site.member("ada"), site.member("bob")
    first = scored(worker, ada, 0.5)
    scored(worker, bob, 0.7)
    freeze(site)
    later = scored(worker, ada, 0.9)
    (entry,) = ada.call("GET", f"/api/v1/competitions/{SLUG}/phases/feedback/entries").json()
    assert (entry["submission"], entry["rank"]) == (later, None)
    (place,) = ada.call("GET", f"/api/v1/submissions/{later}").json()["answer"]["places"]
    assert (place["rank"], place["words"]) == (None, "This is your team's entry.")
    (place,) = ada.call("GET", f"/api/v1/submissions/{first}").json()["answer"]["places"]
    assert place["words"] == "Your team's entry is another one, #2."
    told = [mail.body for mail in mails(site, "ada@example.org") if "is scored" in mail.subject]
    assert "rank 1 of 1" in told[0] and "rank" not in told[-1]
    freeze(site, "unfreeze")
    (place,) = ada.call("GET", f"/api/v1/submissions/{later}").json()["answer"]["places"]
    assert place["words"] == "Rank 1 of 2."


@pytest.mark.seconds("a whole phase for each way")
@pytest.mark.parametrize(("act_name", "undo"), [("disqualify", "qualify"), ("delete", "restore")])
def test_what_is_disqualified_or_deleted_after_freezing_leaves_and_returns_when_that_is_undone(
    site: Site, worker: PaperWorker, act_name: str, undo: str
) -> None:
    ada, bob = site.member("ada"), site.member("bob")
    earlier = scored(worker, ada, 0.4)
    first = scored(worker, ada, 0.6)
    scored(worker, bob, 0.3)
    freeze(site)
    scored(worker, ada, 0.9)
    act(site, act_name, first)
    assert names(site, "free") == [("bob", 0.3)]  # neither the earlier one nor the later one moves up
    assert site.board("free")["rows"][0]["rank"] == 1
    assert exported(site) == ["bob"]
    shown = page(bob, f"/competitions/{SLUG}/leaderboard").text
    assert not re.search(r"\bada\b", shown)  # as a word: a token may hold these letters
    act(site, undo, first)
    assert names(site, "free") == [("ada", 0.6), ("bob", 0.3)]
    act(site, act_name, earlier)  # it did not stand
    assert names(site, "free") == [("ada", 0.6), ("bob", 0.3)]
    act(site, act_name, first)
    freeze(site, "unfreeze")
    assert names(site, "free") == [("ada", 0.9), ("bob", 0.3)]


def test_a_team_takes_its_row_off_a_frozen_board_and_puts_it_back(site: Site, worker: PaperWorker) -> None:
    ada = site.member("ada")
    first = scored(worker, ada, 0.6)
    freeze(site)
    later = scored(worker, ada, 0.9)
    withdraw(ada, later)
    assert names(site, "free") == [("ada", 0.6)]
    withdraw(ada, later, undo=True)
    withdraw(ada, first)
    assert names(site, "free") == []
    withdraw(ada, first, undo=True)
    assert names(site, "free") == [("ada", 0.6)]  # not the later 0.9


def test_a_submission_that_loses_its_score_leaves_a_frozen_board(site: Site, worker: PaperWorker) -> None:
    """The run failed by its own doing when the organizers had it run again."""
    ada = site.member("ada")
    first = scored(worker, ada, 0.6)
    freeze(site)
    act(site, "rerun", first)
    job = worker.claim()
    assert job is not None
    assert worker.fail(job, "RUNTIME_ERROR").status_code == 204
    assert names(site, "free") == []
    assert ada.call("GET", f"/api/v1/submissions/{first}").json()["score"] is None


def test_a_score_made_anew_while_the_board_is_frozen_waits(site: Site, worker: PaperWorker) -> None:
    first = scored(worker, site.member("ada"), 0.6)
    freeze(site)
    act(site, "rerun", first)
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.8)
    assert names(site, "free") == [("ada", 0.6)]
    act(site, "disqualify", first)
    act(site, "qualify", first)
    assert names(site, "free") == []  # its 0.6 is no more, and its 0.8 may not be shown yet
    freeze(site, "unfreeze")
    assert names(site, "free") == [("ada", 0.8)]


def test_a_team_that_is_not_admitted_any_more_leaves_a_frozen_board(site: Site, worker: PaperWorker) -> None:
    from tests.platform.entries.test_entries import women

    women(site)
    ada, owner = site.member("ada"), site.owner()
    scored(worker, ada, 0.5, leagues=["women"])
    ada.call("PUT", f"/api/v1/competitions/{SLUG}/leagues/women/answers", json={"answers": {"woman": "yes"}})
    (row,) = owner.call("GET", f"{MANAGE}/leagues/teams").json()
    decision = {"league": "women", "teams": [row["team"]], "admit": True, "reason": ""}
    owner.call("POST", f"{MANAGE}/leagues/teams/decide", json=decision)
    freeze(site)
    assert names(site, "women") == [("ada", 0.5)]
    owner.call("POST", f"{MANAGE}/leagues/teams/decide", json={**decision, "admit": False})
    assert names(site, "women") == []
    owner.call("POST", f"{MANAGE}/leagues/teams/decide", json=decision)
    assert names(site, "women") == [("ada", 0.5)]


def test_baselines_of_a_frozen_board_leave_and_return_too(site: Site, worker: PaperWorker) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        about = {
            "slug": "proto",
            "name": "Prototypes",
            "builtin": "prototypical-networks",
            "leagues": ["free"],
        }
        session.add(Baseline(competition_id=site.competition(session).id, **about))
    post(owner, f"{BASE}/baselines/proto/run", phase="feedback")
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.2)
    assert [row["team"] for row in site.board("free")["rows"]] == exported(site) == ["Prototypes"], (
        "by its own name: the organizers' team has all of them"
    )
    (made,) = owner.call("GET", f"{MANAGE}/submissions", params={"kind": "baseline"}).json()["items"]
    freeze(site)
    act(site, "disqualify", made["id"])
    assert site.board("free")["rows"] == []
    act(site, "qualify", made["id"])
    assert [(row["score"], row["is_baseline"]) for row in site.board("free")["rows"]] == [(0.2, True)]


def take_out(site: Site, name: str, out: bool = True) -> None:
    body = {"day": 0, "phase": 0, "out_of_ranking": out, "reason": "of our laboratory"}
    answer = site.owner().call("PUT", f"{MANAGE}/people/{name}/quota", json=body)
    assert answer.status_code == 200, answer.text


def ranks(site: Site) -> list[tuple[str, int | None]]:
    return [(row["team"], row["rank"]) for row in site.board("free")["rows"]]


def test_a_team_that_is_taken_out_of_the_ranking_leaves_that_of_a_frozen_board(
    site: Site, worker: PaperWorker
) -> None:
    """Its row kept its rank, the first place and the prize."""
    ada, bob = site.member("ada"), site.member("bob")
    scored(worker, ada, 0.6)
    scored(worker, bob, 0.3)
    freeze(site)
    scored(worker, ada, 0.9)
    assert ranks(site) == [("ada", 1), ("bob", 2)]
    take_out(site, "ada")
    assert sorted(ranks(site)) == [("ada", None), ("bob", 1)]
    assert sorted(names(site, "free")) == [("ada", 0.6), ("bob", 0.3)]  # not the later 0.9
    take_out(site, "ada", out=False)
    assert ranks(site) == [("ada", 1), ("bob", 2)]


def test_who_leaves_the_ranking_of_a_frozen_board_counts_in_nobodys_average_rank(
    site: Site, worker: PaperWorker
) -> None:
    """eve beats bob on three datasets of five; on the other two ada is between them."""
    site.set_version(ranking_rule="dataset_ranks_worst")
    on_two, on_three = {"ada": 0.5, "bob": 0.6, "eve": 0.4}, {"ada": 0.1, "bob": 0.5, "eve": 0.6}
    for name in ("ada", "bob", "eve"):
        assert site.member(name).submit().status_code == 201
        scores = dict.fromkeys("ab", on_two[name]) | dict.fromkeys("cde", on_three[name])
        finish_with_scores(worker, worker.claim() or {}, scores)
    freeze(site)
    assert ranks(site)[:2] == [("bob", 1), ("eve", 2)]
    take_out(site, "ada")
    assert [row for row in ranks(site) if row[1]] == [("eve", 1), ("bob", 2)]


def test_freezing_twice_keeps_the_first_moment(site: Site, worker: PaperWorker) -> None:
    ada = site.member("ada")
    first = scored(worker, ada, 0.6)
    freeze(site)
    withdraw(ada, first)
    freeze(site)
    withdraw(ada, first, undo=True)
    assert names(site, "free") == [("ada", 0.6)]


def test_freezing_is_said_on_the_phases_page(site: Site) -> None:
    assert flash(post(site.owner(), f"{BASE}/phases/feedback/freeze"))
    assert "board frozen" in page(site.owner(), f"{BASE}/phases").text


VERSIONS = f"{MANAGE}/phases/feedback/versions"


def make_live(site: Site, worker: PaperWorker, scores: dict[str, float], *, number: int = 2) -> list[str]:
    """A version that scores everything anew becomes live; what the act says it does. Scores by submission."""
    owner = site.owner()
    if number == 2:
        settings = owner.call("GET", f"{MANAGE}/phases/feedback").json()["settings"]
        settings["tasks"]["count"] = 11
        drafted = owner.call("POST", VERSIONS, json={"settings": settings, "reason": "more tasks"})
        assert drafted.status_code == 201, drafted.text
        assert (
            owner.call("POST", f"{VERSIONS}/2/acts/rescore", json={"mode": "everything"}).status_code == 200
        )
        while job := worker.claim():
            worker.complete(job, scores[job["submission_id"]])
    asked = owner.call("POST", f"{VERSIONS}/{number}/acts/make-live", json={})
    done = owner.call("POST", f"{VERSIONS}/{number}/acts/make-live", json={"confirm": "feedback"})
    assert done.status_code == 200, done.text
    return asked.json()["preview"]["does"]


@pytest.mark.seconds("scores a board twice")
def test_a_version_that_becomes_live_shows_what_stood_on_the_frozen_board(
    site: Site, worker: PaperWorker
) -> None:
    """Its board was empty."""
    ada, bob, eva = site.member("ada"), site.member("bob"), site.member("eva")
    first, other, third = scored(worker, ada, 0.6), scored(worker, bob, 0.3), scored(worker, eva, 0.2)
    freeze(site)
    later = scored(worker, ada, 0.9)
    act(site, "disqualify", third)
    said = make_live(site, worker, {first: 0.31, other: 0.4, third: 0.1, later: 0.95})
    assert (
        "The board stays frozen: the same submissions stand on it, with their scores of this version." in said
    )
    assert names(site, "free") == [("bob", 0.4), ("ada", 0.31)]  # not the later one of ada
    act(site, "qualify", third)
    assert names(site, "free") == [("bob", 0.4), ("ada", 0.31), ("eva", 0.1)]
    act(site, "disqualify", first)
    assert names(site, "free") == [("bob", 0.4), ("eva", 0.1)]
    act(site, "qualify", first)
    make_live(site, worker, {}, number=1)
    assert names(site, "free") == [("ada", 0.6), ("bob", 0.3), ("eva", 0.2)]
    freeze(site, "unfreeze")
    assert names(site, "free") == [("ada", 0.9), ("bob", 0.3), ("eva", 0.2)]

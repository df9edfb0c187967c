"""A league that is hidden and brought back shows what stands then: nothing is lost, and what was decided holds."""

from __future__ import annotations

from typing import Any

import pytest

from anyshot_platform.baselines.models import Baseline
from anyshot_platform.entries.models import Entry
from anyshot_platform.entries.states import EntryState
from anyshot_platform.leaderboards.models import BoardRow
from anyshot_platform.submissions.models import Submission
from tests.platform.admin.test_manage import BASE, flash, post
from tests.platform.entries.test_entries import ENTRIES, names, scored
from tests.platform.entries.test_finals import end_feedback, final, preview
from tests.platform.entries.test_frozen_boards import act, freeze
from tests.platform.site import PaperWorker, Person, Site, make_zip

__all__ = ["final"]


@pytest.fixture
def worker(final: Site) -> PaperWorker:
    return final.worker()


def hide(site: Site) -> None:
    answer = post(site.owner(), f"{BASE}/leagues/free/delete", confirm="free")
    assert answer.status_code == 303, answer.text


def restore(site: Site) -> None:
    assert flash(post(site.owner(), f"{BASE}/leagues/free/restore")) == "“Free style” is back."


def entry_in_free(person: Person) -> dict[str, Any]:
    (entry,) = [row for row in person.call("GET", ENTRIES).json() if row["league"] == "free"]
    return entry


def test_what_happened_while_a_league_was_hidden_holds_when_it_is_back(
    final: Site,
    worker: PaperWorker,
) -> None:
    """bob's row was missing, and ada, disqualified meanwhile, entered the final."""
    ada, bob, eve = final.member("ada"), final.member("bob"), final.member("eve")
    cheats = scored(worker, ada, 0.9)
    scored(worker, bob, 0.5)
    made = eve.submit(make_zip(salt="waits")).json()["id"]
    hide(final)
    act(final, "disqualify", cheats)
    scored(worker_after(worker, made), bob, 0.7, leagues=["scratch"])
    restore(final)
    assert names(final, "free") == [("bob", 0.5), ("eve", 0.4)]
    assert entry_in_free(ada)["state"] == "disqualified"
    end_feedback(final)
    found = preview(final.owner())
    assert {name: row["enters"] for name, row in found.items()} == {"ada": False, "bob": True, "eve": True}
    assert found["ada"]["reasons"] == ["Free style: disqualified: two accounts"]


def worker_after(worker: PaperWorker, submission: str) -> PaperWorker:
    """The worker, when it has scored what waited."""
    job = worker.claim()
    assert job is not None and job["submission_id"] == submission
    assert worker.complete(job, 0.4).status_code == 204
    return worker


def test_a_board_that_was_frozen_while_its_league_was_hidden_comes_back_whole(
    final: Site,
    worker: PaperWorker,
) -> None:
    ada = final.member("ada")
    scored(worker, ada, 0.5)
    hide(final)
    scored(worker, ada, 0.7, leagues=["scratch"])
    freeze(final)
    restore(final)
    assert names(final, "free") == [("ada", 0.5)]


def test_a_baseline_is_on_the_board_of_a_league_that_comes_back(
    final: Site,
    worker: PaperWorker,
) -> None:
    with final.services.database.writing() as session:
        about = {"slug": "proto", "name": "Prototypes", "builtin": "prototypical-networks"}
        competition = final.competition(session)
        session.add(Baseline(competition_id=competition.id, leagues=["free"], **about))
    for _ in range(2):
        post(final.owner(), f"{BASE}/baselines/proto/run", phase="feedback")
        assert worker.complete(worker.claim() or {}, 0.2).status_code == 204
    hide(final)
    with final.services.database.reading() as session:
        last = session.query(Submission).order_by(Submission.number.desc()).first()
        assert last is not None
    freeze(final)
    act(final, "disqualify", last.id)
    restore(final)
    assert [(row["team"], row["score"]) for row in final.board("free")["rows"]] == [("Prototypes", 0.2)]


def test_what_an_earlier_release_lost_in_a_hidden_league_is_back_with_it(
    final: Site,
    worker: PaperWorker,
) -> None:
    ada, bob = final.member("ada"), final.member("bob")
    cheats = scored(worker, ada, 0.9)
    scored(worker, bob, 0.5)
    hide(final)
    act(final, "disqualify", cheats)
    with final.services.database.writing() as session:
        for row in session.query(BoardRow):
            session.delete(row)
        for entry in session.query(Entry).filter_by(submission_id=cheats):
            entry.state, entry.reason = EntryState.STANDING, ""
    restore(final)
    assert names(final, "free") == [("bob", 0.5)]
    assert entry_in_free(ada)["state"] == "disqualified"

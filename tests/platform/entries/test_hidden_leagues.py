"""A league that is hidden and brought back shows what stands then: nothing is lost, and what was decided holds."""

import io
import zipfile
from typing import Any

import pytest

from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.standings.baselines.models import Baseline
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.entries.test_entries import ENTRIES, names, scored
from tests.platform.entries.test_finals import end_feedback, final, preview
from tests.platform.entries.test_frozen_boards import act, freeze
from tests.platform.site import SLUG, PaperWorker, Person, Site, make_zip

__all__ = ["final"]
MANAGE = "/api/v1/competitions/small/manage"
GONE = (
    "“Lonely” is not run: it names the leagues free, and none of them is there. "
    "Restore one of them, or remove the baseline and add it again."
)


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


def add_baseline(site: Site, name: str, *leagues: str) -> Any:
    upload = site.owner().upload(make_zip(salt=name))
    body = {"name": name, "upload_id": upload, "leagues": list(leagues)}
    return site.owner().call("POST", f"{MANAGE}/baselines", json=body)


def boards_of_baselines(owner: Person, slug: str) -> dict[str, list[str]]:
    rows = owner.call("GET", f"/api/v1/competitions/{slug}/manage/baselines").json()
    return {row["name"]: row["leagues"] for row in rows}


def leagues_and_gates(owner: Person, slug: str) -> tuple[list[str], list[str]]:
    """The short names of a competition's leagues, and of those that have a gate."""
    leagues = owner.call("GET", f"/api/v1/competitions/{slug}/manage/leagues").json()
    gates = owner.call("GET", f"/api/v1/competitions/{slug}/manage/gates").json()
    return [league["settings"]["key"] for league in leagues], [gate["league"] for gate in gates]


@pytest.fixture
def hiding(final: Site) -> Site:
    """Two baselines, one of them in the league alone that is then hidden; it has a gate."""
    assert add_baseline(final, "Both", "free", "scratch").status_code == 201
    assert add_baseline(final, "Lonely", "free").status_code == 201
    hide(final)
    return final


def test_a_competition_with_a_hidden_league_is_copied_without_it(hiding: Site) -> None:
    """ "It cannot be copied before this is mended: there is no league free": nothing could mend it."""
    owner = hiding.owner()
    copied = owner.call("POST", f"{MANAGE}/clone", json={"slug": "next"})
    assert copied.status_code == 201, copied.text
    assert leagues_and_gates(owner, "next") == (["scratch"], [])
    assert boards_of_baselines(owner, "next") == {"Both": ["scratch"]}
    restore(hiding)
    again = owner.call("POST", f"{MANAGE}/clone", json={"slug": "whole"})
    assert again.status_code == 201, again.text
    assert leagues_and_gates(owner, "whole") == (["free", "scratch"], ["free"])
    assert boards_of_baselines(owner, "whole") == {"Both": ["free", "scratch"], "Lonely": ["free"]}


def test_the_bundle_of_a_competition_with_a_hidden_league_is_imported_again(hiding: Site) -> None:
    owner = hiding.owner()
    whole = post(owner, f"{BASE}/bundle-with-seeds", confirm=SLUG).content
    assert "baselines/lonely.zip" not in zipfile.ZipFile(io.BytesIO(whole)).namelist()
    answer = owner.call(
        "POST",
        "/organize/import",
        data={"slug": "copy"},
        files={"bundle": ("copy.zip", whole)},
        headers={"accept": "text/html"},
    )
    assert answer.status_code == 200, answer.text
    assert leagues_and_gates(owner, "copy") == (["scratch"], [])


def test_a_baseline_whose_leagues_are_all_hidden_is_refused_before_it_runs(
    hiding: Site,
    worker: PaperWorker,
) -> None:
    owner, path = hiding.owner(), f"{MANAGE}/baselines/lonely/acts/run"
    refused = owner.call("POST", path, json={"phase": "feedback"})
    assert (refused.status_code, refused.json()["message"]) == (409, GONE)
    assert GONE in flash(post(owner, f"{BASE}/baselines/lonely/run", phase="feedback"))
    assert worker.claim() is None
    assert (
        owner.call("POST", f"{MANAGE}/baselines/both/acts/run", json={"phase": "feedback"}).status_code == 202
    )
    assert worker.complete(worker.claim() or {}, 0.2).status_code == 204
    restore(hiding)
    assert [row["team"] for row in hiding.board("free")["rows"]] == []
    assert owner.call("POST", path, json={"phase": "feedback"}).status_code == 202
    assert worker.complete(worker.claim() or {}, 0.1).status_code == 204
    assert [row["team"] for row in hiding.board("free")["rows"]] == ["Lonely"]


def test_a_baseline_names_leagues_that_are_there(final: Site, worker: PaperWorker) -> None:
    """A name that was none was dropped when the baseline was run, which then stood in each league open to all."""
    hide(final)
    for name in ("fre", "Not a Key", "free"):
        refused = add_baseline(final, "Proto", name)
        said = refused.json()
        assert (refused.status_code, said["field"]) == (422, "leagues")
        assert said["message"] == f"There is no league {name}. Leagues: scratch."
    assert boards_of_baselines(final.owner(), SLUG) == {}
    shown = final.owner().call(
        "POST",
        f"{BASE}/baselines",
        data={"name": "Mine, of an evening", "leagues": ["free"]},
        files={"file": ("mine.zip", make_zip())},
        headers={"accept": "text/html"},
    )
    assert shown.status_code == 422 and 'value="Mine, of an evening"' in shown.text
    assert "There is no league free. Leagues: scratch." in shown.text
    assert "Mine, of an evening" not in page(final.owner(), f"{BASE}/baselines").text


def test_a_baseline_that_an_earlier_release_kept_with_no_league_s_name_stands_nowhere(
    final: Site,
    worker: PaperWorker,
) -> None:
    assert add_baseline(final, "Typed", "free").status_code == 201
    with final.services.database.writing() as session:
        session.query(Baseline).one().leagues = ["Free Style"]
    owner = final.owner()
    refused = owner.call("POST", f"{MANAGE}/baselines/typed/acts/run", json={"phase": "feedback"})
    assert refused.status_code == 409 and "it names the leagues Free Style" in refused.json()["message"]
    assert worker.claim() is None
    copied = owner.call("POST", f"{MANAGE}/clone", json={"slug": "next"})
    assert copied.status_code == 201, copied.text
    assert boards_of_baselines(owner, "next") == {}

"""What organizers and gates decided about an entry of the from-scratch league, no later inspection undoes."""

from typing import Any

from anyshot_platform.contest.phases.states import BoardShows
from tests.contract.recording import recorded
from tests.platform.site import SLUG, PaperWorker, Person, Site, make_zip

MANAGE = f"/api/v1/competitions/{SLUG}/manage"
CLEAN, WEIGHTS = recorded("evidence-clean"), recorded("evidence-known")


def ask(person: Person, method: str, path: str, body: Any = None) -> Any:
    answer = person.call(method, MANAGE + path, json=body)
    assert answer.is_success, answer.text
    return answer.json()


def finish(worker: PaperWorker, mean: float, evidence: dict[str, Any]) -> None:
    while (job := worker.claim()) is not None:
        assert worker.complete(job, mean, evidence=evidence).is_success


def decide(owner: Person, submission: str, *, admit: bool) -> None:
    entries = [{"submission": submission, "league": "scratch"}]
    ask(owner, "POST", "/leagues/entries/decide", {"entries": entries, "admit": admit, "reason": "looked"})


def make_final(owner: Person) -> None:
    settings = ask(owner, "GET", "/phases/feedback")["settings"]
    final = {**settings, "key": "final", "title": "Final", "kind": "final", "entries": {"phase": "feedback"}}
    ask(owner, "POST", "/phases", final)


def final_board(site: Site, league: str) -> list[str]:
    path = f"/api/v1/competitions/{SLUG}/phases/final/leaderboard"
    return [row["team"] for row in site.client.get(path, params={"league": league}).json()["rows"]]


def test_an_admitted_entry_stays_admitted_in_the_final_whatever_is_found_again(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    alice = site.member("alice").submit(leagues=["scratch"]).json()["id"]
    finish(worker, 0.6, WEIGHTS)
    decide(owner, alice, admit=True)
    make_final(owner)
    ask(
        owner,
        "POST",
        "/phases/final/final/acts/launch",
        {"expected": 1, "confirm": "final", "override": True},
    )
    finish(worker, 0.6, WEIGHTS)
    assert final_board(site, "scratch") == ["alice"]


def test_a_refused_entry_stays_refused_whatever_a_new_run_finds(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    site.set_version(train_seeds=[1, 2], test_seeds=[3, 4])
    alice = site.member("alice").submit(leagues=["scratch", "free"]).json()["id"]
    decide(owner, alice, admit=False)
    finish(worker, 0.6, CLEAN)
    assert [len(site.board(league)["rows"]) for league in ("scratch", "free")] == [0, 1]


def test_an_entry_below_a_leagues_gate_is_not_in_that_leagues_final(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    site.member("alice").submit(leagues=["scratch", "free"])
    finish(worker, 0.6, CLEAN)
    make_final(owner)
    ask(owner, "PUT", "/gates/final/scratch", {"score": 0.9})
    ask(
        owner,
        "POST",
        "/phases/final/final/acts/launch",
        {"expected": 1, "confirm": "final", "override": True},
    )
    finish(worker, 0.6, CLEAN)
    assert (final_board(site, "scratch"), final_board(site, "free")) == ([], ["alice"])


def test_an_organizers_admission_of_a_clean_entry_holds_too(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    site.set_version(train_seeds=[1, 2], test_seeds=[3, 4])
    alice = site.member("alice").submit(leagues=["scratch"]).json()["id"]
    job = worker.claim()
    assert job is not None and worker.complete(job, 0.6, evidence=CLEAN).is_success
    decide(owner, alice, admit=True)
    finish(worker, 0.6, WEIGHTS)
    assert [row["team"] for row in site.board("scratch")["rows"]] == ["alice"]


def test_an_entry_that_gave_way_before_the_final_is_not_brought_back_by_a_clean_inspection(
    site: Site,
) -> None:
    """Its runs go on for the other league; the team's choice of its best would take the wrong one."""
    owner, worker = site.owner(), site.worker()
    site.set_phase(board_shows=BoardShows.BEST)
    alice = site.member("alice")
    alice.submit(make_zip(salt="first"), leagues=["scratch", "free"])
    finish(worker, 0.6, CLEAN)
    alice.submit(make_zip(salt="second"), leagues=["scratch"])
    late = worker.claim()
    assert late is not None
    make_final(owner)
    launch = {"confirm": "final", "override": True}
    ask(owner, "POST", "/phases/final/final/acts/launch", launch)
    assert worker.complete(late, 0.7, evidence=CLEAN).is_success
    (team,) = {row["team_id"] for row in ask(owner, "GET", "/phases/final/final")}
    ask(owner, "POST", "/phases/final/final/acts/launch", {**launch, "replace": [team]})
    for score in (0.9, 0.5):  # of the first, which stays in the other league, and of the second
        job = worker.claim()
        assert job is not None and worker.complete(job, score, evidence=CLEAN).is_success
    assert (final_scores(site, "scratch"), final_scores(site, "free")) == ([0.5], [0.9])


def final_scores(site: Site, league: str) -> list[float]:
    path = f"/api/v1/competitions/{SLUG}/phases/final/leaderboard"
    return [row["score"] for row in site.client.get(path, params={"league": league}).json()["rows"]]


def test_what_is_decided_stands_folded_below_what_waits_with_who_decided(site: Site) -> None:
    """Decided ones stood among the open ones, with their boxes, and nobody saw who had decided."""
    owner, worker = site.owner(), site.worker()
    ids = {
        name: site.member(name).submit(make_zip(salt=name), leagues=["scratch"]).json()["id"]
        for name in ("waits", "shaky", "clean")
    }
    for name in ids:
        job = worker.claim()
        assert (
            job is not None
            and worker.complete(job, 0.6, evidence=CLEAN if name == "clean" else WEIGHTS).is_success
        )
    decide(owner, ids["shaky"], admit=False)

    def shown() -> tuple[str, str]:
        text = owner.call("GET", f"/competitions/{SLUG}/manage/leagues").text
        card = text.partition("Submissions, and what was found in them")[2].partition("bulkbar")[0]
        waiting, _, decided = " ".join(card.split()).partition("Decided already: ")
        return waiting, decided

    waiting, decided = shown()
    assert ids["waits"] in waiting and ids["shaky"] not in waiting and ids["clean"] not in waiting
    assert decided.startswith("2 submissions</summary>") and "<details" in waiting.rpartition("<summary>")[0]
    assert "by olga, <time" in decided.partition(ids["shaky"])[2] and "looked" in decided
    assert "by olga" not in decided.partition(f'value="{ids["clean"]}')[2].partition("</tr>")[0], "by rule"
    rows = {row["submission"]: row for row in ask(owner, "GET", "/leagues/entries")}
    assert (rows[ids["shaky"]]["decided_by"], rows[ids["waits"]]["decided_by"]) == ("olga", "")
    assert rows[ids["waits"]]["decided_at"] is None
    decide(owner, ids["waits"], admit=True)
    waiting, decided = shown()
    assert "Nothing to decide" in waiting and decided.startswith("3 submissions")

"""Every ranking rule on its whole way: upload, runs, board, page, gate, final phase, report, export.

The table of runs and what each rule says of it stand in tests/scoring/known_rules.py, worked out by hand.
"""

import csv
import html
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import create_pool_version
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.leaderboards.models import BoardRow
from anyshot_scoring.rules import RULES
from tests.platform.admin.results import finish_with_scores, work_off
from tests.platform.admin.test_manage import BASE, page, phase_form, post
from tests.platform.site import SLUG, PaperWorker, Person, Site, make_paper_pack, make_zip, summary
from tests.scoring.known_rules import KNOWN, TABLE

BOARD = f"/competitions/{SLUG}/leaderboard"
API = f"/api/v1/competitions/{SLUG}/manage"


def add_dataset(site: Site) -> None:
    """A second dataset, beta, in the phase's pool."""
    pack_id = make_paper_pack(site.services, "beta")
    with site.services.database.writing() as session:
        pool = session.get_one(Phase, site.phase_id).versions[0].meta_test
        assert pool is not None
        both = [*(entry.pack for entry in pool.entries), session.get_one(Pack, pack_id)]
        create_pool_version(session, pool.pool, both, created_by=site.owner_id)


def choose(site: Site, **changes: str) -> None:
    """The organizer saves the phase's form; with tasks from its key, since the phase has begun."""
    site.set_version(test_seeds=[])
    shown = phase_form(**{"shown.dataset_names": "1", **changes})
    saved = post(site.owner(), f"{BASE}/phases/feedback", **shown)
    assert saved.status_code == 303, saved.text


def play(site: Site, worker: PaperWorker, team: str, runs: list[dict[str, float]]) -> str:
    """A member uploads a submission, and a worker hands in its runs; returns its id."""
    sent = site.member(team).submit()
    assert sent.status_code == 201, sent.text
    jobs = [worker.claim() for _ in runs]
    for job, scores in zip(jobs, runs, strict=True):
        assert job is not None
        finish_with_scores(worker, job, scores)
    return sent.json()["id"]


@pytest.fixture(params=RULES)
def played(request: pytest.FixtureRequest, site: Site) -> tuple[Site, str]:
    """The table's three teams on the board of a phase with this rule."""
    rule = request.param
    add_dataset(site)
    choose(site, **{"scoring.ranking": rule, "scoring.runs": "3"})
    worker = site.worker()
    for team, runs in TABLE.items():
        play(site, worker, team, [{"alpha": x, "beta": y} for _, x, y in runs])
    return site, rule


def text_of(answer: Any) -> str:
    assert answer.status_code == 200, answer.text
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.text)))


@pytest.mark.rotating
def test_every_rule_goes_all_the_way(played: tuple[Site, str], tmp_path: Path) -> None:
    site, rule = played
    order, scores = KNOWN[rule].order, KNOWN[rule].scores
    see_the_board(site, rule)
    see_the_export(site, rule, tmp_path)
    gate, best = sorted(scores.values())[1], max(scores, key=lambda team: scores[team])
    see_who_enters_the_final_phase(site, gate, above={best})
    see_the_report(site, rule, order, tmp_path)


def see_the_board(site: Site, rule: str) -> None:
    known = KNOWN[rule]
    rows = site.board()["rows"]
    assert [(row["rank"], row["team"]) for row in rows] == list(enumerate(known.order, 1))
    assert {row["team"]: row["score"] for row in rows} == pytest.approx(known.scores)
    shown = text_of(page(site.owner(), BOARD))
    places = [shown.index(f" {team} ") for team in known.order]
    assert places == sorted(places)
    assert RULES[rule].words(3) in shown
    for score in known.scores.values():
        assert f"{score:.3f}" in shown
    assert RULES[rule].words(3) in text_of(page(site.owner(), f"/competitions/{SLUG}/phases/feedback"))
    about = site.client.get(f"/api/v1/competitions/{SLUG}").json()["phases"][0]
    assert (about["ranking"], about["ranking_words"]) == (rule, RULES[rule].words(3))


def see_the_export(site: Site, rule: str, folder: Path) -> None:
    archive = site.owner().call("GET", f"{BASE}/exports/archive.zip").content
    zipfile.ZipFile(io.BytesIO(archive)).extractall(folder)
    with (folder / "leaderboards.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["league"] == "free"]
    assert [(row["rank"], row["team"], row["rule"]) for row in rows] == [
        (str(place), team, rule) for place, team in enumerate(KNOWN[rule].order, 1)
    ]
    assert {row["team"]: float(row["score"]) for row in rows} == pytest.approx(KNOWN[rule].scores)
    if rule not in ("mean_run", "dataset_ranks_worst", "worst_dataset"):  # one of each kind: it takes seconds
        return
    reproduce = [sys.executable, "reproduce.py"]
    done = subprocess.run(reproduce, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert "All scores and ranks on the boards follow from the results." in done.stdout, (
        done.stdout + done.stderr
    )


def add_final(site: Site) -> None:
    """A final phase that takes its entries from the feedback phase."""
    final = phase_form(title="Final", key="final", kind="final", **{"entries.phase": "feedback"})
    del final["accepts_uploads"]
    assert post(site.owner(), f"{BASE}/phases/new", **final).status_code == 303


def who_enters(site: Site) -> list[dict[str, Any]]:
    rows = site.owner().call("GET", f"{API}/phases/final/final").json()
    return [row for row in rows if row["enters"]]


def see_who_enters_the_final_phase(site: Site, gate: float, above: set[str]) -> None:
    owner = site.owner()
    add_final(site)
    for league in ("free", "scratch"):
        note = {"score": gate, "note": "by hand"}
        assert owner.call("PUT", f"{API}/gates/final/{league}", json=note).is_success
    assert {row["team"] for row in who_enters(site)} == above
    assert f"does not beat the gate of {gate:.3f}" in text_of(page(owner, f"{BASE}/final"))


def see_the_report(site: Site, rule: str, order: tuple[str, ...], folder: Path) -> None:
    wish = {"analysis": "flips", "phase": "feedback", "settings": {"replicates": 1000}}
    report = site.owner().call("POST", f"{API}/reports", json=wish).json()["id"]
    assert work_off(site, folder) == 1
    result = site.owner().call("GET", f"{API}/reports/{report}").json()["result"]["result"]
    teams = {row["team"]: row for row in site.board()["rows"]}
    assert result["rule"] == rule
    assert result["scores"] == pytest.approx([teams[team]["score"] for team in order])
    assert result["points"] == pytest.approx([-KNOWN[rule].keys[team] for team in order])
    assert RULES[rule].words(3) in text_of(page(site.owner(), f"{BASE}/reports/{report}"))


@pytest.mark.parametrize("rule", ["worst_run", "dataset_ranks_mean"])
def test_of_equal_teams_the_earlier_submission_is_first(site: Site, rule: str) -> None:
    worker = site.worker()
    choose(site, **{"scoring.ranking": rule})
    for team in ("zoe", "abe"):
        play(site, worker, team, [{"alpha": 0.5, "beta": 0.25}])
    assert [(row["rank"], row["team"]) for row in site.board()["rows"]] == [(1, "zoe"), (2, "abe")]
    shown = text_of(page(site.owner(), BOARD))
    assert shown.index(" zoe ") < shown.index(" abe ")


def test_a_run_that_fails_on_a_dataset_has_the_worst_rank_on_it(site: Site) -> None:
    """On alpha 1 ada, 2 bob; cyd failed there: 3. On beta 1 cyd, 2 bob, 3 ada. Averages 2, 2, 2 but for bob's gain."""
    worker = site.worker()
    add_dataset(site)
    choose(site, **{"scoring.ranking": "dataset_ranks_worst", "scoring.runs": "2"})
    play(site, worker, "ada", [{"alpha": 0.9, "beta": 0.1}] * 2)
    play(site, worker, "bob", [{"alpha": 0.8, "beta": 0.2}] * 2)
    play(site, worker, "cyd", [{"alpha": 0.99, "beta": 0.95}, {"beta": 0.95}])
    assert averages(site) == {"ada": (1 + 3) / 2, "bob": (2 + 2) / 2, "cyd": (3 + 1) / 2}
    assert [row["team"] for row in site.board()["rows"]] == ["ada", "bob", "cyd"]  # the earlier ones first
    play(site, worker, "dan", [{"alpha": 0.85, "beta": 0.15}] * 2)
    assert averages(site) == {"ada": 2.5, "bob": 2.5, "cyd": 2.5, "dan": 2.5}


def averages(site: Site) -> dict[str, float]:
    with site.services.database.reading() as session:
        rows = session.scalars(select(BoardRow).join(League).where(League.slug == "free"))
        return {session.get_one(Team, row.team_id).name: row.sort_value for row in rows}


def submit_again(site: Site, worker: PaperWorker, person: Person, *scores: float) -> list[str]:
    """The same person's further submissions, with one run each."""
    made = []
    for number, score in enumerate(scores):
        made.append(person.submit(make_zip(salt=f"{person.username} {number}")).json()["id"])
        job = worker.claim()
        assert job is not None
        finish_with_scores(worker, job, {"alpha": score})
    return made


def test_the_board_follows_when_the_organizer_changes_what_it_shows(site: Site) -> None:
    worker = site.worker()
    submit_again(site, worker, site.member("pia"), 0.75, 0.75, 0.25)
    assert site.board()["rows"][0]["submission_number"] == 3
    choose(site, **{"scoring.board_shows": "best"})
    assert site.board()["rows"][0]["submission_number"] == 1, "of equal ones the earlier is the better"


def test_the_best_of_a_team_is_what_the_rule_ranks_first(site: Site) -> None:
    """The peak has the higher mean; on two of three datasets the even one is better."""
    worker = site.worker()
    choose(site, **{"scoring.ranking": "dataset_ranks_worst", "scoring.board_shows": "best"})
    pia = site.member("pia")
    for scores in ({"a": 0.5, "b": 0.5, "c": 0.5}, {"a": 0.99, "b": 0.4, "c": 0.4}):
        assert pia.submit(make_zip(salt=str(scores))).status_code == 201
        job = worker.claim()
        assert job is not None
        worker.complete(job, sum(scores.values()) / 3, summary=summary(sum(scores.values()) / 3, 10, scores))
    assert site.board()["rows"][0]["score"] == pytest.approx(0.5)


def test_a_gate_is_measured_by_the_rule(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    add_dataset(site)
    choose(site, **{"scoring.ranking": "worst_dataset"})
    upload = owner.upload(make_zip())
    added = owner.call("POST", f"{API}/baselines", json={"name": "Proto", "upload_id": upload})
    assert added.status_code == 201, added.text
    asked = owner.call("POST", f"{API}/baselines/proto/acts/measure", json={"phase": "feedback"})
    assert asked.json()["runs"] == 10, asked.text
    for _ in range(5):
        for scores in ({"alpha": 0.9, "beta": 0.2}, {"alpha": 0.3, "beta": 0.7}):
            job = worker.claim()
            assert job is not None
            finish_with_scores(worker, job, scores)
    (measured,) = owner.call("GET", f"{API}/gates/measurements").json()
    assert measured["mean"] == pytest.approx((0.2 + 0.3) / 2)
    assert "0.250" in text_of(page(owner, f"{BASE}/baselines"))

"""Reports: asked for on the pages or over JSON, computed by a worker's own code, seen by organizers alone."""

import html
import json
import re
from pathlib import Path

import pytest
from sqlalchemy import select

from anyshot_analysis.jobs.inputs import SAME_TASKS
from anyshot_core.wire.reports import ANALYSIS_VERSION, REPORTS
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import add_pack, create_pool, create_pool_version
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.notifications.models import Notification
from anyshot_platform.people.teams.models import Team
from tests.platform.admin.results import finish_with_predictions, finish_with_results, work_off
from tests.platform.admin.test_manage import BASE, acts, flash, page, post
from tests.platform.site import SLUG, Site, make_zip
from tests.platform.web.crawling import walk_below
from tests.services.material import TRAIN

API = f"/api/v1/competitions/{SLUG}/manage/reports"


@pytest.fixture
def board(site: Site) -> Site:
    """Four teams with three seeded runs each on thirty tasks, on either database; zeta is hardly worse than pia.

    The last, uma, submits twice.
    """
    worker = site.worker()
    site.set_version(tasks=30, train_seeds=[1, 2, 3], test_seeds=[1, 2, 3])
    skills = {"pia": 0.6, "zeta": 0.595, "rob": 0.4, "uma": 0.2}
    members = {name: site.member(name) for name in skills}
    for place, name in enumerate([*skills, "uma"]):
        assert members[name].submit().status_code == 201
        for run in range(3):
            finish_with_results(worker, skills[name], seed=10 * place + run)
    return site


@pytest.mark.seconds("whole reports")
def test_a_board_is_judged_from_the_results_of_its_tasks(board: Site, tmp_path: Path) -> None:
    owner = board.owner()
    asked = post(
        owner, f"{BASE}/reports", analysis="flips", phase="feedback", league="free", replicates="1000"
    )
    assert flash(asked) == "A worker computes it now."
    address = asked.headers["location"]
    waiting = page(owner, address).text
    assert f'data-watch="{API}/' in waiting
    assert "queue" in waiting
    assert work_off(board, tmp_path) == 1
    shown = page(owner, address).text
    for words in (
        "How far this ranking can be trusted",
        "pia",
        "Intervals of the true rank",
        "Conclusion flips",
        "What would settle the top",
        "Between seeded runs (Kendall",
        "the lowest of the 3 runs counts",
        "<svg",
    ):
        assert words in shown, words
    assert "data-watch" not in shown
    (row,) = re.findall(r"<td>uma</td>\s*<td>[\d.]+</td>\s*<td>(\d+)</td>\s*<td>([\d.]+)</td>", shown)
    assert row[0] == "2" and float(row[1]) > 0, "what a score owes to how often its team submitted"
    numbers = owner.call("GET", f"{API}/{address.rpartition('/')[2]}").json()
    assert numbers["state"] == "finished"
    result = numbers["result"]["result"]
    assert len(result["keys"]) == 4
    assert result["runs"] == 3
    assert result["rule"] == "worst_run"
    assert "reports" in [act.partition(".")[0] + "s" for act in acts(board)]


@pytest.mark.seconds("a whole report")
@pytest.mark.parametrize("told", [True, False])
def test_a_task_that_all_runs_have_counts_once(told: bool, site: Site, tmp_path: Path) -> None:
    """Where the phase tests all runs on the tasks of the first, reports do not take runs for more tasks.

    Also where the files of the runs do not tell it, as those of an earlier release.
    """
    worker = site.worker()
    site.set_version(tasks=30, train_seeds=[1, 2], test_seeds=[], same_test_tasks=told)
    for place, (name, skill) in enumerate((("pia", 0.6), ("rob", 0.5))):
        assert site.member(name).submit().status_code == 201
        for run in range(2):
            finish_with_results(worker, skill, seed=10 * place + run)
    site.set_version(same_test_tasks=True)
    owner, asked = site.owner(), {"flips": {"replicates": 1000}, "difficulty": {}}
    made = {
        name: owner.call(
            "POST", API, json={"analysis": name, "phase": "feedback", "settings": settings}
        ).json()["id"]
        for name, settings in asked.items()
    }
    assert work_off(site, tmp_path) == len(asked)
    found = {name: owner.call("GET", f"{API}/{report}").json()["result"] for name, report in made.items()}
    assert (found["flips"]["result"]["runs"], found["flips"]["result"]["tasks"]) == (2, 30)
    for name in made:
        assert SAME_TASKS in page(owner, f"{BASE}/reports/{made[name]}").text


@pytest.mark.seconds("a whole report")
def test_kept_predictions_let_it_speak_of_other_classes(site: Site, tmp_path: Path) -> None:
    worker = site.worker()
    site.set_version(tasks=30, train_seeds=[1, 2], test_seeds=[1, 2])
    for place, (name, skill) in enumerate((("pia", 0.9), ("rob", 0.5))):
        assert site.member(name).submit().status_code == 201
        for run in range(2):
            finish_with_predictions(worker, skill, seed=10 * place + run)
    wish = {"analysis": "flips", "phase": "feedback", "settings": {"replicates": 1000}}
    report = site.owner().call("POST", API, json=wish).json()["id"]
    assert work_off(site, tmp_path) == 1
    result = site.owner().call("GET", f"{API}/{report}").json()["result"]["result"]
    assert result["classes"] == 16
    assert result["populations"]["classes"]["redrawn"]["first"][0] > 0.99
    page_shown = page(site.owner(), f"{BASE}/reports/{report}").text
    assert "Over other classes of these datasets" in page_shown


@pytest.mark.seconds("a whole report")
def test_the_same_inputs_are_computed_once_and_new_results_again(board: Site, tmp_path: Path) -> None:
    owner = board.owner()
    wish = {"analysis": "flips", "phase": "feedback", "settings": {"replicates": 1000}}
    first = owner.call("POST", API, json=wish)
    assert first.status_code == 202, first.text
    work_off(board, tmp_path)
    again = owner.call("POST", API, json=wish).json()
    assert (again["id"], again["state"]) == (first.json()["id"], "finished")
    asked = post(owner, f"{BASE}/reports", analysis="flips", phase="feedback", replicates="1000")
    assert flash(asked) == "Nothing has changed since this report was created."
    assert owner.call("POST", API, json={**wish, "settings": {"seed": 1}}).json()["id"] != first.json()["id"]
    other_seed = owner.call("GET", API).json()[0]["id"]
    assert owner.call("POST", f"{API}/{other_seed}/acts/cancel").json()["state"] == "cancelled"
    board.member("vera").submit()
    worker = board.worker()
    for run in range(3):
        finish_with_results(worker, 0.5, seed=90 + run)
    assert owner.call("POST", API, json=wish).json()["id"] != first.json()["id"]


@pytest.mark.seconds("a whole report")
def test_a_submission_that_was_scored_again_is_judged_by_its_new_results(board: Site, tmp_path: Path) -> None:
    """pia led; scored again with the skill of the last, it is last."""
    owner, worker = board.owner(), board.worker()
    with board.services.database.reading() as session:
        first = session.scalars(select(Submission.id).join(Team).where(Team.name == "pia")).one()
    acts_at = f"/api/v1/competitions/{SLUG}/manage/submissions/acts"
    assert owner.call("POST", acts_at, json={"act": "rerun", "ids": [first]}).status_code == 200
    for run in range(3):
        assert finish_with_results(worker, 0.1, seed=70 + run) == first
    wish = {"analysis": "flips", "phase": "feedback", "settings": {"replicates": 1000}}
    report = owner.call("POST", API, json=wish).json()["id"]
    assert work_off(board, tmp_path) == 1
    result = owner.call("GET", f"{API}/{report}").json()["result"]["result"]
    assert result["keys"][-1] == first and result["scores"][-1] == pytest.approx(0.1, abs=0.05)


@pytest.mark.seconds("a whole report")
def test_a_rerun_that_was_partly_lost_leaves_reports_on_the_result_that_stands(
    board: Site, tmp_path: Path
) -> None:
    """One of its runs came back with the skill of the last, and another was lost: pia still leads."""
    owner, worker = board.owner(), board.worker()
    with board.services.database.reading() as session:
        first = session.scalars(select(Submission.id).join(Team).where(Team.name == "pia")).one()
    acts_at = f"/api/v1/competitions/{SLUG}/manage/submissions/acts"
    assert owner.call("POST", acts_at, json={"act": "rerun", "ids": [first]}).status_code == 200
    assert finish_with_results(worker, 0.1, seed=70) == first
    job = worker.claim()
    assert job is not None
    worker.fail(job, "BAD_SETTINGS")
    wish = {"analysis": "flips", "phase": "feedback", "settings": {"replicates": 1000}}
    report = owner.call("POST", API, json=wish).json()["id"]
    assert work_off(board, tmp_path) == 1
    result = owner.call("GET", f"{API}/{report}").json()["result"]["result"]
    assert result["keys"][0] == first and result["scores"][0] > 0.3


def test_a_plan_and_a_ranking_are_of_entries_and_no_baseline(site: Site) -> None:
    """One entry and one baseline stand on the board: datasets are difficult to both, and no lead is planned for."""
    owner, worker = site.owner(), site.worker()
    site.set_version(tasks=30)
    site.member("pia").submit()
    finish_with_results(worker, 0.6, seed=1)
    entered = {"name": "Proto", "upload_id": owner.upload(make_zip(salt="baseline")), "leagues": ["free"]}
    baselines = f"/api/v1/competitions/{SLUG}/manage/baselines"
    assert owner.call("POST", baselines, json=entered).status_code == 201
    assert owner.call("POST", f"{baselines}/proto/acts/run", json={"phase": "feedback"}).status_code == 202
    finish_with_results(worker, 0.65, seed=2)
    asked = {
        name: owner.call("POST", API, json={"analysis": name, "phase": "feedback"}).status_code
        for name in ("difficulty", "plan", "flips")
    }
    assert asked == {"difficulty": 202, "plan": 409, "flips": 409}


@pytest.mark.seconds("two whole reports")
def test_a_team_out_of_the_ranking_is_in_no_ranking_of_a_report(board: Site, tmp_path: Path) -> None:
    """Pia is of the organizers, and the best on each dataset: the board's first is zeta, whose average rank is 1."""
    board.set_version(ranking_rule="dataset_ranks_worst")
    body = {"day": 0, "phase": 0, "out_of_ranking": True, "reason": "ours"}
    owner = board.owner()
    people = f"/api/v1/competitions/{SLUG}/manage/people"
    assert owner.call("PUT", f"{people}/pia/quota", json=body).status_code == 200
    rows = {row["team"]: row["rank"] for row in board.board()["rows"]}
    assert rows == {"pia": None, "zeta": 1, "rob": 2, "uma": 3}
    made = {
        name: owner.call("POST", API, json={"analysis": name, "phase": "feedback"}).json()["id"]
        for name in ("flips", "plan", "difficulty")
    }
    assert work_off(board, tmp_path) == 3
    found = {name: owner.call("GET", f"{API}/{key}").json()["result"] for name, key in made.items()}
    flips = found["flips"]["result"]
    assert flips["points"] == [-1, -2, -3], "average ranks, with a minus before each"
    assert "pia" not in json.dumps(found["flips"]) and "zeta leads a board of 3" in found["flips"]["finding"]
    plan = page(owner, f"{BASE}/reports/{made['plan']}").text
    assert "the difference of zeta and rob, first and second of the board, by the model of 3" in plan
    assert len(found["difficulty"]["result"]["scores"]) == 4, "datasets are difficult to whoever met them"
    for team in ("zeta", "rob"):
        assert owner.call("PUT", f"{people}/{team}/quota", json=body).status_code == 200
    refused = owner.call("POST", API, json={"analysis": "plan", "phase": "feedback"})
    assert refused.json()["message"] == "Fewer than two entries on this board are ranked."


@pytest.mark.seconds("a whole report")
def test_what_an_older_analysis_computed_is_computed_anew(
    board: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, wish = board.owner(), {"analysis": "difficulty", "phase": "feedback"}
    first = owner.call("POST", API, json=wish).json()["id"]
    assert owner.call("POST", API, json=wish).json()["id"] == first
    asked = "anyshot_platform.judging.reports.actions.service.ANALYSIS_VERSION"
    monkeypatch.setattr(asked, ANALYSIS_VERSION + 1)
    assert owner.call("POST", API, json=wish).json()["id"] != first


@pytest.mark.seconds("a whole report")
def test_difficulty_and_planning_come_from_the_board_too(board: Site, tmp_path: Path) -> None:
    owner = board.owner()
    made = {
        name: owner.call("POST", API, json={"analysis": name, "phase": "feedback"}).json()["id"]
        for name in ("difficulty", "plan")
    }
    assert work_off(board, tmp_path) == 2
    difficulty = owner.call("GET", f"{API}/{made['difficulty']}").json()["result"]["result"]["difficulty"]
    assert [row["dataset"] for row in difficulty] == ["alpha", "beta", "gamma"]
    assert difficulty[2]["intrinsic"] > difficulty[0]["intrinsic"]
    assert difficulty[0]["modelling"] == pytest.approx(0.4, abs=0.05)
    plan = owner.call("GET", f"{API}/{made['plan']}").json()
    assert "lead of 1 point flips" in plan["result"]["finding"]
    assert (
        "the difference of pia and zeta, first and second of the board, by the model of 4 submissions"
        in page(owner, f"{BASE}/reports/{made['plan']}").text
    )
    file = owner.call("GET", f"{API}/{made['difficulty']}/files/table.parquet")
    assert file.content[:4] == b"PAR1"
    assert page(owner, f"{BASE}/reports/{made['plan']}/files/page.html").text.startswith("<!doctype html>")
    assert "<svg" in page(owner, f"{BASE}/reports/{made['difficulty']}").text
    forge(board, made["plan"], tmp_path / "page.html", "<h1>R</h1><form action=/x>kept</form></main>")
    shown = page(owner, f"{BASE}/reports/{made['plan']}").text
    assert "kept" in shown and "action=/x" not in shown and 'action="/x"' not in shown
    sent = owner.call("GET", f"{API}/{made['plan']}/files/page.html")
    assert "sandbox" in sent.headers["content-security-policy"] and "<form" in sent.text


def forge(board: Site, report: str, file: Path, content: str) -> None:
    """Put another page in the place of the one that the worker of a report sent."""
    file.write_text(content)
    blob = keep_file(board.services, file)
    with board.services.database.writing() as session:
        run = session.get_one(Report, report).run_id
        row = session.scalars(
            select(Artifact).where(Artifact.run_id == run, Artifact.name == "page.html")
        ).one()
        row.digest, row.size = blob.digest, blob.size


@pytest.mark.seconds("whole reports")
def test_reports_name_what_is_hidden_so_only_organizers_see_them(board: Site, tmp_path: Path) -> None:
    owner, reviewer = board.owner(), board.member("rita", Role.REVIEWER)
    participant = board.member("petra")
    wish = {"analysis": "difficulty", "phase": "feedback"}
    report = owner.call("POST", API, json=wish).json()["id"]
    work_off(board, tmp_path)
    for path in (f"{BASE}/reports", f"{BASE}/reports/{report}", f"{BASE}/reports/{report}/files/result.json"):
        assert page(reviewer, path).status_code == 200
        assert page(participant, path).status_code == 403
    for path in (API, f"{API}/{report}", f"{API}/{report}/files/result.json"):
        assert reviewer.call("GET", path).status_code == 200
        assert participant.call("GET", path).status_code == 403
    opened, broken = walk_below(reviewer, board.client, f"{BASE}/reports", f"{BASE}/reports")
    assert not broken and f"{BASE}/reports/{report}/files/result.json" in opened
    assert reviewer.call("POST", API, json=wish).status_code == 403
    assert reviewer.call("POST", f"{API}/{report}/acts/delete").status_code == 403
    assert post(owner, "/organize/new", title="Other", slug="other").status_code == 303
    other = "/api/v1/competitions/other/manage/reports"
    assert owner.call("GET", other).status_code == 200
    assert owner.call("GET", f"{other}/{report}").status_code == 404
    post(owner, f"{BASE}/reports/{report}/delete")
    assert owner.call("GET", API).json() == []
    assert "Deleted reports" in page(owner, f"{BASE}/reports").text
    post(owner, f"{BASE}/reports/{report}/restore")
    assert [row["id"] for row in owner.call("GET", API).json()] == [report]


def test_a_shelf_shows_what_each_report_needs_and_a_form_opens_alone(board: Site) -> None:
    """A card has a picture, the question and whether what it needs is there; a refusal leads back to its form."""
    owner, reviewer = board.owner(), board.member("rita", Role.REVIEWER)
    cards = page(owner, f"{BASE}/reports").text.split('<li class="card shelf__card">')[1:]
    assert len(cards) == len(REPORTS)
    for kind, card in zip(REPORTS.values(), cards, strict=True):
        assert re.search(r"<(path|rect|circle) ", card.partition("</svg>")[0]), kind.name
        assert f'/reports/new/{kind.name}?phase=feedback&amp;league=free"' in card
        assert kind.question in html.unescape(card)
    assert ">ready<" in cards[0] and "Needs 2 ranked entries with results; 4 found." in cards[0]
    assert (
        ">not ready<" in cards[7] and "Needs a submission with exported probabilities; 0 found." in cards[7]
    )
    assert "/reports/new/" not in page(reviewer, f"{BASE}/reports").text
    form = page(owner, f"{BASE}/reports/new/calibration").text
    assert form.count('name="analysis"') == 1 and "Needs a submission with exported probabilities;" in form
    refused = post(owner, f"{BASE}/reports", analysis="plan", phase="feedback", league="free", lead="7")
    assert refused.headers["location"] == f"{BASE}/reports/new/plan?phase=feedback&league=free"


def test_what_cannot_be_computed_is_refused_with_the_reason(
    site: Site, demo_packs: dict[str, Path], tmp_path: Path
) -> None:
    owner = site.owner()
    wish = {"phase": "feedback"}
    few = owner.call("POST", API, json={**wish, "analysis": "flips"})
    assert (few.status_code, few.json()["error"]) == (409, "nothing_to_report")
    bad = owner.call("POST", API, json={**wish, "analysis": "diversity", "settings": {"tasks": 1}})
    assert bad.status_code == 422
    assert "from 4 to 1,000" in bad.json()["message"]
    assert owner.call("POST", API, json={**wish, "analysis": "horoscope"}).status_code == 404
    assert "There is no report" in flash(
        post(owner, f"{BASE}/reports", analysis="horoscope", phase="feedback")
    )
    # The floor cannot have more tasks than the whole: only the analysis knows, and says it to the organizer.
    settings = {"tasks": 4, "floor_tasks": 5}
    asked = owner.call("POST", API, json={**wish, "analysis": "diversity", "settings": settings}).json()
    use_real_pool(site, demo_packs)
    work_off(site, tmp_path)
    failed = owner.call("GET", f"{API}/{asked['id']}").json()
    assert failed["state"] == "failed"
    assert "2 for the floor" in failed["message"]
    assert "2 for the floor" in page(owner, f"{BASE}/reports/{asked['id']}").text
    with site.services.database.reading() as session:
        (told,) = session.scalars(select(Notification).where(Notification.kind == "report"))
        assert told.user_id == owner.id
        assert "diversity" in told.title
        assert told.title.endswith("failed")


def use_real_pool(site: Site, packs: dict[str, Path]) -> None:
    """Put two generated datasets in the place of the paper ones."""
    ids = [add_pack(site.services, packs[name]).id for name in TRAIN]
    with site.services.database.writing() as session:
        pool = create_pool(session, slug="real", name="Real", owner_id=site.owner_id)
        rows = [session.get_one(Pack, pack_id) for pack_id in ids]
        made = create_pool_version(session, pool, rows, created_by=site.owner_id)
        version = session.get_one(Phase, site.phase_id).versions[0]
        assert isinstance(version, PhaseVersion)
        version.meta_test_pool_version_id = version.meta_train_pool_version_id = made.id
        version.protocol = {"name": "fixed", "ways": 3, "shots": 3, "query": 3}


@pytest.mark.slow("five reports by a real worker")
def test_a_pool_is_looked_at_before_its_phase(
    site: Site, demo_packs: dict[str, Path], tmp_path: Path
) -> None:
    owner = site.owner()
    site.set_phase(starts_at=now().replace(year=now().year + 1), ends_at=None)
    use_real_pool(site, demo_packs)
    for name, settings in (("audit", {}), ("diversity", {"tasks": "4", "floor_tasks": "2"})):
        post(owner, f"{BASE}/reports", analysis=name, phase="feedback", **settings)
    assert work_off(site, tmp_path) == 2
    listed = owner.call("GET", API).json()
    assert [(row["analysis"], row["state"], row["message"]) for row in listed] == [
        ("diversity", "finished", ""),
        ("audit", "finished", ""),
    ]
    audit = owner.call("GET", f"{API}/{listed[1]['id']}").json()["result"]
    with site.services.database.reading() as session:
        tasks = session.get_one(Phase, site.phase_id).versions[0].tasks
    assert audit["manifest"]["parameters"]["tasks"] == tasks and f"{tasks} tasks" in audit["finding"]
    shown = page(owner, f"{BASE}/reports/{listed[0]['id']}").text
    assert "Diversity of the pool" in shown
    assert "Distance between tasks, by dataset" in shown
    pool = page(owner, "/organize/pools/real").text
    assert f"/manage/reports/{listed[0]['id']}" in pool

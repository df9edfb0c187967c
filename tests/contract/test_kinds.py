"""Every kind of job, carried out by a real worker: what participants and organizers see of it at the end."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_core.data.pack import Pack
from anyshot_core.results import Maker, find_runs
from anyshot_core.wire.jobs import Evaluate, JobKind, LogPolicy
from anyshot_core.wire.reports import REPORTS
from anyshot_platform.app import create_app
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.standings.baselines.actions import gates
from tests.contract.stage import TASKS, Stage
from tests.contract.test_checkpoints import SAVING
from tests.contract.test_jobs import quota, submit, text_of
from tests.platform.admin.test_submission_reports import evaluate, make_pair, split_classes
from tests.platform.entries.test_finals import add_final
from tests.platform.site import Person, make_zip
from tests.services.material import TEST, TRAIN
from tests.services.processes import free_port
from tests.services.sites import served
from tests.worker.test_query_order import COUNTING

MANAGE = "/api/v1/competitions/small/manage"
GUESSING = COUNTING.replace("np.arange(len(query)) % self.ways", "np.zeros(len(query), int)")


@pytest.fixture(autouse=True)
def whole_messages(stage: Stage) -> None:
    """Where all goes well, everything is said that was recorded."""
    if stage.recorder is not None:
        stage.recorder.whole = True


def ask(stage: Stage, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    """An organizer's request."""
    answer = stage.site.owner().call(method, MANAGE + path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def board(stage: Stage) -> dict[str, float]:
    return {row["team"]: row["score"] for row in stage.site.board()["rows"]}


def of_datasets(stage: Stage, person: Person, submission_id: str) -> dict[str, list[float]]:
    """The scores of single tasks, by what the participant is told that their dataset is called."""
    sheet = person.call("GET", f"/submissions/{submission_id}/tasks.csv")
    assert sheet.status_code == 200, sheet.text
    found: dict[str, list[float]] = {}
    for row in csv.DictReader(io.StringIO(sheet.text)):
        found.setdefault(row["dataset"], []).append(float(row["normalized_accuracy"]))
    return found


def mean_of(rows: dict[str, list[float]]) -> float:
    scores = [score for part in rows.values() for score in part]
    return sum(scores) / len(scores)


def shown_score(value: float) -> str:
    """As pages write it."""
    return f"{value:z.3f}".replace("-", "−")


def offer_smoke_tests(stage: Stage) -> str:
    """On a public pool; returns the id of its version."""
    with stage.site.services.database.writing() as session:
        version = session.get_one(PoolVersion, stage.make_pool("open-data", TRAIN))
        version.pool.published_at = now()
        session.get_one(Phase, stage.site.phase_id).smoke_pool_version_id = version.id
        return version.id


@pytest.mark.seconds("a whole smoke test")
def test_a_smoke_test_tells_its_owner_how_it_went_and_costs_nothing(stage: Stage) -> None:
    offer_smoke_tests(stage)
    alice, smoke = submit(stage, "alice", smoke=True)
    stage.worker().work()
    seen = stage.shown(alice, smoke)
    assert (seen["kind"], seen["status"], quota(alice)) == (SubmissionKind.SMOKE, "finished", 0)
    assert seen["runs"][0]["tasks_done"] == 2
    page = text_of(stage.page(f"/submissions/{smoke}", alice))
    assert "smoke test" in page.lower() and "Finished" in page
    assert board(stage) == {}


@pytest.mark.seconds("a whole smoke test")
def test_a_smoke_test_shows_that_a_training_cannot_be_resumed(stage: Stage) -> None:
    offer_smoke_tests(stage)
    before, after = SAVING.split("def resume")
    alice, smoke = submit(
        stage, "alice", f"{before}def resume{after.replace('/weight', '/other', 1)}", smoke=True
    )
    stage.worker().work()
    seen = stage.shown(alice, smoke)
    assert seen["status"] == "failed" and "FileNotFoundError in meta-training" in seen["runs"][0]["message"]


@pytest.mark.seconds("a whole smoke test")
def test_the_tasks_of_a_smoke_test_can_be_looked_at_and_hidden_ones_cannot(
    stage: Stage, tmp_path: Path
) -> None:
    version_id = offer_smoke_tests(stage)
    alice, smoke = submit(stage, "alice", smoke=True)
    carol, entry = submit(stage, "carol")
    stage.worker().work()
    assert f'href="/submissions/{smoke}/tasks/1"' in stage.page(f"/submissions/{smoke}", alice)
    right = 0.0
    for number in (1, 2):
        path = f"/submissions/{smoke}/tasks/{number}"
        text = text_of(stage.page(path, alice))
        found = re.search(r"(\d+) of (\d+) query images were classified correctly", text)
        (dataset, ways) = re.findall(rf"({'|'.join(TRAIN)}): (\d) ways", text)[0]
        assert found is not None and int(found[2]) == 10 * int(ways), text
        pack = Pack.open(stage.packs[dataset], verify=False)
        assert sum(name in text for name in pack.classes) >= int(ways)
        share = int(found[1]) / int(found[2])
        right += (share - 1 / int(ways)) / (1 - 1 / int(ways)) / 2
        picture = alice.call("GET", f"{path}/picture.jpg")
        assert picture.headers["content-type"] == "image/jpeg" and len(picture.content) > 5_000
        told = alice.call("GET", f"/api/v1{path}").json()
        assert (told["right"], told["queries"], told["ways"]) == (int(found[1]), int(found[2]), int(ways))
        assert alice.call("GET", f"/api/v1{path}/picture").content == picture.content
    shown = {
        shown_score(right - 1e-9),
        shown_score(right + 1e-9),
    }  # between two that are shown it may be either
    assert any(score in text_of(stage.page(f"/submissions/{smoke}", alice)) for score in shown)
    site = stage.site
    with served(create_app(site.services.settings, site.services), free_port()) as address:
        asked = [
            "task",
            smoke,
            "2",
            "-o",
            str(tmp_path / "2.jpg"),
            "--server",
            address,
            "--token",
            alice.token,
        ]
        said = CliRunner().invoke(main, asked, catch_exceptions=False).output.splitlines()
    assert said[0] == (
        f"Task 2 of 2: {dataset}, {ways} ways, {told['shots']} shots, "
        f"{found[1]} of {found[2]} query images classified correctly"
    )
    assert [line.split()[-int(ways) :] for line in said[2:-1]] == [
        list(map(str, row)) for row in told["confusion"]
    ]
    assert (tmp_path / "2.jpg").read_bytes() == picture.content
    assert alice.call("GET", f"/submissions/{smoke}/tasks/3").status_code == 404
    assert carol.call("GET", f"/api/v1/submissions/{entry}/tasks/1").status_code == 404
    assert carol.call("GET", f"/submissions/{entry}/tasks/1").status_code == 404
    assert stage.site.member("bob").call("GET", f"/submissions/{smoke}/tasks/1").status_code == 404
    with stage.site.services.database.writing() as session:
        session.get_one(PoolVersion, version_id).pool.published_at = None
    for path in (f"/submissions/{smoke}/tasks/1", f"/submissions/{smoke}/tasks/1/picture.jpg"):
        assert alice.call("GET", path).status_code == 409


def test_a_whole_run_is_shown_on_page_board_table_and_report(stage: Stage) -> None:
    alice, entry = submit(stage, "alice")
    stage.worker().work()
    seen = stage.shown(alice, entry)
    assert (seen["status"], seen["verdict"], seen["runs"][0]["tasks_done"]) == ("finished", "OK", TASKS)
    tasks = of_datasets(stage, alice, entry)
    assert set(tasks) == {"Hidden 1", "Hidden 2"} and sum(map(len, tasks.values())) == TASKS
    assert mean_of(tasks) == pytest.approx(seen["score"]) and board(stage) == {"alice": seen["score"]}
    page = text_of(stage.page(f"/submissions/{entry}", alice))
    assert shown_score(seen["score"]) in page
    assert shown_score(seen["score"]) in text_of(stage.page("/competitions/small/leaderboard"))
    report = alice.call("GET", f"/submissions/{entry}/report.html").text
    assert shown_score(seen["score"]) in text_of(report).replace("-", "−")
    assert not any(name in page + report for name in TEST), "hidden datasets have no name"


@pytest.mark.slow("four runs of a real worker")
def test_shards_of_several_seeds_are_tested_from_the_learner_of_the_first(
    stage: Stage, tmp_path: Path
) -> None:
    """Even from one that saved nothing, as this one. Their files say that the seeds have the same tasks."""
    stage.site.set_version(shards=2, train_seeds=[1, 2], test_seeds=[], same_test_tasks=True)
    alice, split = submit(stage, "alice")
    worker = stage.worker()
    worker.work()
    assert {job.kind for job in worker.wire.jobs} == {JobKind.EVALUATE, JobKind.META_TEST}
    seen = stage.shown(alice, split)
    assert (seen["status"], [run["verdict"] for run in seen["runs"]]) == ("finished", ["OK"] * 4)
    (tmp_path / "all.zip").write_bytes(
        stage.site.owner().call("GET", f"/submissions/{split}/everything.zip").content
    )
    ((one, two),) = find_runs([tmp_path / "all.zip"]).values()
    assert one.identity.maker == two.identity.maker == Maker.SITE
    assert one.identity.same_test_tasks and two.identity.same_test_tasks


@pytest.mark.slow("a real run for each dataset")
def test_dataset_by_dataset_every_dataset_has_a_run_and_a_line(stage: Stage) -> None:
    within = {"name": "within_domain", "ways": 3, "shots": 2, "query": 5}
    stage.site.set_version(each_dataset=True, protocol=within, meta_train_pool_version_id=stage.pools["test"])
    alice, entry = submit(stage, "alice")
    worker = stage.worker()
    worker.work()
    assert {job.dataset for job in worker.wire.jobs if isinstance(job, Evaluate)} == {0, 1}
    seen = stage.shown(alice, entry)
    tasks = of_datasets(stage, alice, entry)
    assert seen["status"] == "finished" and set(tasks) == {"Hidden 1", "Hidden 2"}
    assert mean_of(tasks) == pytest.approx(seen["score"]) == pytest.approx(board(stage)["alice"])
    page = text_of(stage.page(f"/submissions/{entry}", alice))
    assert "Hidden 1" in page and "Hidden 2" in page


def add_baseline(stage: Stage, name: str, code: str) -> str:
    owner = stage.site.owner()
    upload = owner.upload(make_zip({"model.py": code.encode()}))
    made = ask(stage, "POST", "/baselines", {"name": name, "upload_id": upload, "leagues": ["free"]}, 201)
    return made["key"]


@pytest.mark.slow("runs of a real worker")
def test_a_baseline_stands_marked_on_the_board_and_its_seeds_propose_a_gate(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates.measure_gate, "__defaults__", (2,))  # ten seeds show no more than two
    key, worker = add_baseline(stage, "Guessing", GUESSING), stage.worker()
    ask(stage, "POST", f"/baselines/{key}/acts/measure", {"phase": "feedback"}, 202)
    worker.work()
    assert len({job.train_seed for job in worker.wire.jobs if isinstance(job, Evaluate)}) == 2
    (measured,) = ask(stage, "GET", "/gates/measurements")
    assert (measured["ended"], measured["mean"]) == (2, pytest.approx(0.0)), "one class for all is chance"
    assert stage.site.board("free")["rows"] == [], "a measurement is no entry"
    queued = ask(stage, "POST", f"/baselines/{key}/acts/run", {"phase": "feedback"}, 202)
    submit(stage, "alice")
    refused = ask(stage, "PUT", "/gates/feedback/free", {"score": 0.9}, 422)
    assert "takes its entries from no other phase" in refused["message"]
    add_final(stage.site)
    ask(stage, "PUT", "/gates/final/free", {"score": 0.9, "note": "measured"})
    worker.work()
    rows = {row["rank"]: row["score"] for row in stage.site.board("free")["rows"]}
    assert set(rows) == {None, 1} and rows[None] == pytest.approx(0.0)
    page = text_of(stage.page("/competitions/small/leaderboard?league=free"))
    assert "Guessing" in page and "baseline" in page.lower()
    assert "0.900" in page and "gate" in page.lower()
    assert stage.shown(stage.site.owner(), queued["submission"])["kind"] == SubmissionKind.BASELINE


RESCORED = (
    ("score", JobKind.SCORE, {"scoring": {"ranking": "mean_run"}}),
    ("score", JobKind.SCORE, {"scoring": {"ranking": "worst_run"}}),
    ("meta_test", JobKind.META_TEST, {"tasks": {"count": 2 * TASKS}}),
    ("everything", JobKind.EVALUATE, {"tasks": {"count": TASKS}}),
)


@pytest.mark.slow("runs of a real worker, each scored twice")
def test_versions_are_scored_anew_and_count_once_they_are_live(stage: Stage) -> None:
    stage.site.set_version(keep_learner=True)
    alice, entry = submit(stage, "alice")
    worker = stage.worker()
    worker.work()
    for number, (mode, kind, change) in enumerate(RESCORED, start=2):
        before = stage.shown(alice, entry)["score"]
        draft_version(stage, change)
        ask(stage, "POST", f"{VERSIONS}/{number}/acts/rescore", {"mode": mode})
        worker.work()
        assert worker.wire.jobs[-1].kind == kind
        shown = ask(stage, "GET", f"{VERSIONS}/{number}")
        assert (shown["runs"], shown["ended"], shown["failed"]) == (1, 1, 0), mode
        (row,) = shown["compared"]
        assert (row["team"], row["old"]) == ("alice", before)
        assert (row["new"] == before) == (mode == "score"), "other tasks have another score"
        page = text_of(stage.page(f"/competitions/small{VERSION_PAGE}/{number}", stage.site.owner()))
        assert shown_score(row["old"]) in page and shown_score(row["new"]) in page
        assert board(stage) == {"alice": before}, "a draft counts nothing"
        ask(stage, "POST", f"{VERSIONS}/{number}/acts/make-live", {"confirm": "feedback"})
        assert stage.shown(alice, entry)["score"] == row["new"] and board(stage) == {"alice": row["new"]}
        tasks = of_datasets(stage, alice, entry)
        assert sum(map(len, tasks.values())) == change.get("tasks", {}).get("count", TASKS)
        assert mean_of(tasks) == pytest.approx(row["new"])


VERSIONS, VERSION_PAGE = "/phases/feedback/versions", "/manage/phases/feedback/versions"


def draft_version(stage: Stage, change: dict[str, dict[str, Any]]) -> None:
    settings = ask(stage, "GET", "/phases/feedback")["settings"]
    for part, values in change.items():
        settings[part] = {**settings[part], **values}
    ask(stage, "POST", VERSIONS, {"settings": settings, "reason": "a test"}, 201)


SETTINGS = {
    "flips": {"replicates": 1000},
    "diversity": {"tasks": 4, "floor_tasks": 2},
    "n-way-flips": {"share": 0.5, "draws": 1000},
    "representations": {"permutations": 20},
    "feature-diversity": {"permutations": 100},
}


def order(stage: Stage, analysis: str, *submissions: str) -> str:
    wish = {"analysis": analysis, "phase": "feedback", "settings": SETTINGS.get(analysis, {})}
    wish["submissions"] = list(submissions)
    return ask(stage, "POST", "/reports", wish, 202)["id"]


@pytest.mark.training
@pytest.mark.slow("five reports by a real worker")
def test_every_report_is_computed_and_shown(stage: Stage) -> None:
    submit(stage, "alice")
    submit(stage, "bob", GUESSING)
    stage.worker().work()
    see_computed(stage, {kind.name: order(stage, kind.name) for kind in REPORTS.values() if not kind.most})


@pytest.mark.slow("six reports by a real worker")
def test_every_report_on_submissions_is_computed_and_shown(stage: Stage) -> None:
    """Of two submissions that exported everything, one of which was tested on base and novel classes besides."""
    pair = make_pair(stage.site)
    split_classes(pair)
    evaluate(pair, {"base": (0.8,), "novel": (0.6,)})
    chosen = {kind.name: (pair.pia, pair.rob)[: max(kind.least, 1)] for kind in REPORTS.values() if kind.most}
    chosen["representations"] = (pair.pia, pair.rob)
    see_computed(stage, {name: order(stage, name, *ids) for name, ids in chosen.items()})


def see_computed(stage: Stage, ordered: dict[str, str]) -> None:
    """A worker computes reports, by name their ids; their pages say what they found."""
    stage.worker("analyst").work()
    for analysis, report in ordered.items():
        shown = ask(stage, "GET", f"/reports/{report}")
        assert (shown["state"], shown["message"]) == ("finished", ""), (analysis, shown)
        assert shown["result"]["analysis"] == analysis
        page = text_of(stage.page(f"/competitions/small/manage/reports/{report}", stage.site.owner()))
        assert re.sub(r"\s+", " ", shown["result"]["finding"]) in page


def test_output_is_shown_as_far_as_the_phase_says(stage: Stage) -> None:
    """What a participant prints while it is tested may name what is hidden."""
    talking = COUNTING.replace("return MyLearner()", "print('in training', flush=True); return MyLearner()")
    talking = talking.replace("return Counts(", "print('in testing', flush=True); return Counts(")
    stage.site.set_phase(log_policy=LogPolicy.META_TRAIN)
    alice, entry = submit(stage, "alice", talking)
    stage.worker().work()
    log = alice.call("GET", f"/submissions/{entry}/log.txt").text
    assert "in training" in log and "in testing" not in log
    measures = f"/api/v1/submissions/{entry}/measures"
    told = {one["stage"] for one in alice.call("GET", measures).json()}
    every = {one["stage"] for one in stage.site.owner().call("GET", measures).json()}
    assert told and told <= {"preparing", "meta_training"} and "meta_testing" in every

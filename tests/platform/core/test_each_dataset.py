"""Meta-training dataset by dataset: a part of the run for each, joined into one result."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from sqlalchemy import select

from anyshot_core.protocols.task import dataset_in_turn
from anyshot_core.results import read_results, write_results
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.description import TasksSpec
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import create_pool_version
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_scoring.summary import summarize
from anyshot_scoring.table import TaskTable
from tests.platform.admin.test_rules import text_of
from tests.platform.core.test_shards import make_predictions, make_table, rescore, store
from tests.platform.site import PaperWorker, Site, make_paper_pack, make_zip

TASKS, DATASETS = 7, 2


def tasks_of(job: dict[str, Any]) -> list[int]:
    return [
        index
        for index in range(job["tasks"])
        if dataset_in_turn(job["test_seed"], index, range(len(job["meta_test"]))) == job["dataset"]
    ]


def claim_all(worker: PaperWorker) -> list[dict[str, Any]]:
    """The parts of all datasets, in the order of the datasets."""
    jobs = [job for _ in range(DATASETS) if (job := worker.claim()) is not None]
    return sorted(jobs, key=lambda job: job["dataset"])


def hand_in(worker: PaperWorker, job: dict[str, Any], folder: Path, *, seconds: float = 0.0) -> TaskTable:
    """Complete a part, each of whose tasks took so many seconds to fit."""
    tasks = tasks_of(job)
    table = make_table(0, TASKS).select(np.isin(np.arange(TASKS), tasks))
    table = replace(
        table, dataset=np.full(len(tasks), f"d{job['dataset']}"), fit_seconds=np.full(len(tasks), seconds)
    )
    path = folder / "results.parquet"
    write_results(path, table, {"tasks": len(tasks)})
    artifacts = []
    answers = store(folder / "predictions.parquet", make_predictions(tasks, f"d{job['dataset']}"))
    for name, body in {"results.parquet": path.read_bytes(), "predictions.parquet": answers}.items():
        assert worker.put(job, name, body).status_code == 204
        artifacts.append({"name": name, "digest": hashlib.sha256(body).hexdigest(), "size": len(body)})
    done = worker.complete(job, 0.0, summary=summarize(table, tasks).to_dict(), artifacts=artifacts)
    assert done.status_code == 204, done.text
    return table


def by_dataset(site: Site, **values: Any) -> None:
    """The phase goes dataset by dataset, over a pool of two."""
    pack_id = make_paper_pack(site.services, "beta")
    with site.services.database.writing() as session:
        version = session.get_one(Phase, site.phase_id).versions[0]
        assert version.meta_test is not None
        pool, packs = version.meta_test.pool, [entry.pack for entry in version.meta_test.entries]
        both = [*packs, session.get_one(Pack, pack_id)]
        version.meta_test_pool_version_id = create_pool_version(
            session, pool, both, created_by=pool.owner_id or ""
        ).id
    protocol = {"name": "within_domain", "split_seed": 7}
    site.set_version(each_dataset=True, tasks=TASKS, protocol=protocol, **values)


def test_each_dataset_is_a_part_and_the_parts_make_one_result(site: Site, tmp_path: Path) -> None:
    by_dataset(site)
    alice = site.member("alice")
    shown = alice.submit().json()
    worker = site.worker()
    jobs = claim_all(worker)  # none waits for another
    assert [(job["kind"], job["dataset"], job["shard"], job["keep_learner"]) for job in jobs] == [
        ("evaluate", 0, None, False),
        ("evaluate", 1, None, False),
    ]
    for job in jobs:
        assert job["budget"]["run_seconds"] == 300.0  # half of the run's 600
        hand_in(worker, job, tmp_path)
    whole = summarize(make_table(0, TASKS), TASKS)
    submission = site.submission(shown["id"])
    assert submission.status == "finished"
    assert submission.score == pytest.approx(whole.mean, abs=1e-12)
    path = f"/api/v1/submissions/{shown['id']}/runs/{jobs[0]['run_id']}/artifacts/results.parquet"
    (tmp_path / "joined.parquet").write_bytes(site.owner().call("GET", path).content)
    joined, _ = read_results(tmp_path / "joined.parquet")
    assert joined.task.tolist() == list(range(TASKS))
    page = alice.call("GET", f"/submissions/{shown['id']}").text
    assert "Part 2 of 2, a dataset each" in page


def count_of(site: Site, job: dict[str, Any]) -> int:
    with site.services.database.reading() as session:
        return session.get_one(Run, job["run_id"]).tasks_total


def test_a_heartbeat_does_not_change_how_many_tasks_a_part_has(site: Site, tmp_path: Path) -> None:
    """Workers told the number of the whole run in passing: a part whose last beat said so failed as our fault."""
    by_dataset(site)
    shown, worker = site.member("alice").submit().json(), site.worker()
    for job in claim_all(worker):
        planned = count_of(site, job)
        assert worker.beat(job, "scoring", tasks_done=0, tasks_total=TASKS).status_code == 200
        assert count_of(site, job) == planned < TASKS
        hand_in(worker, job, tmp_path)
    assert site.submission(shown["id"]).status == "finished"


def test_a_smoke_test_is_of_one_dataset(site: Site) -> None:
    by_dataset(site)
    site.offer_smoke_tests("one", "two")
    site.member("alice").submit(smoke=True)
    job = site.worker().claim()
    assert job is not None
    assert (job["kind"], job["dataset"], len(job["meta_train"]), len(job["meta_test"])) == (
        "smoke",
        None,
        1,
        1,
    )


def test_every_dataset_may_have_the_whole_time(site: Site) -> None:
    by_dataset(site, budget_each_dataset=True, meta_train_seconds=400.0)
    site.member("alice").submit()
    job = site.worker().claim()
    assert job is not None
    assert (job["budget"]["run_seconds"], job["budget"]["meta_train_seconds"]) == (600.0, 400.0)


def test_a_part_is_scored_again_as_that_part(site: Site, tmp_path: Path) -> None:
    by_dataset(site)
    shown = site.member("alice").submit().json()
    worker = site.worker()
    for job in claim_all(worker):
        hand_in(worker, job, tmp_path)
    assert rescore(site, shown["id"]).done == (shown["id"],)
    again = claim_all(worker)
    assert [(job["kind"], job["dataset"]) for job in again] == [("score", 0), ("score", 1)]
    for job in again:
        hand_in(worker, job, tmp_path)
    assert site.submission(shown["id"]).status == "finished"


def test_a_dataset_that_the_code_fails_on_leaves_the_others(site: Site, tmp_path: Path) -> None:
    by_dataset(site, ranking_rule="dataset_ranks_worst")
    shown = site.member("alice").submit().json()
    worker = site.worker()
    failing, other = claim_all(worker)
    worker.fail(failing, "RUNTIME_ERROR")
    table = hand_in(worker, other, tmp_path)
    submission = site.submission(shown["id"])
    assert (submission.status, submission.counts_quota) == ("finished", True)
    assert submission.score == pytest.approx(table.normalized_accuracy.sum() / TASKS)
    with site.services.database.reading() as session:
        (score,) = session.scalars(select(SubmissionScore))
        assert set(score.by_dataset) == {"d1"}
    assert len(site.board()["rows"]) == 1
    again = site.member("bob").submit().json()  # fails on both
    for job in claim_all(worker):
        worker.fail(job, "RUNTIME_ERROR")
    assert (site.submission(again["id"]).status, site.submission(again["id"]).score) == ("failed", None)


def test_other_figures_are_not_better_for_a_failure_on_a_dataset(site: Site, tmp_path: Path) -> None:
    """They were over the tasks that were answered, beside a score that counts the rest as 0: failing raised them."""
    by_dataset(site, ranking_rule="dataset_ranks_worst")
    with site.services.database.writing() as session:
        league = session.scalars(select(League).where(League.slug == "free")).one()
        league.columns = [{"metric": "accuracy", "title": "Right", "decimals": 3}]
    worker, alice, bob = site.worker(), site.member("alice"), site.member("bob")
    failed = alice.submit().json()["id"]
    failing, other = claim_all(worker)
    worker.fail(failing, "RUNTIME_ERROR")
    answered = len(hand_in(worker, other, tmp_path, seconds=3.0))
    assert 0 < answered < TASKS
    through = bob.submit(make_zip(salt="bob")).json()["id"]
    whole = [hand_in(worker, job, tmp_path, seconds=3.0) for job in claim_all(worker)]
    right = float(np.concatenate([table.accuracy for table in whole]).mean())
    columns = {row["team"]: row["columns"] for row in site.board("free")["rows"]}
    assert columns == {"alice": {}, "bob": {"Right": f"{right:.3f}"}}
    shown = text_of(alice.call("GET", f"/submissions/{failed}"))
    assert "mean over tasks" not in shown
    assert "Time per task 3.0 s fit and predict, on average" in shown
    assert "at least one dataset, whose tasks count as 0 in the score." in shown
    assert f"The charts and the time per task are of the {answered} tasks that it answered." in shown
    report = site.owner().call("GET", f"/submissions/{failed}/report.html").text
    assert "By dataset" in report and "All metrics" not in report
    shown = text_of(bob.call("GET", f"/submissions/{through}"))
    assert "mean over tasks" in shown and "Time per task 3.0 s fit" in shown
    assert "at least one dataset" not in shown


def test_where_datasets_are_not_ranked_one_by_one_a_failure_ends_all(site: Site) -> None:
    by_dataset(site)
    shown = site.member("alice").submit().json()
    worker = site.worker()
    failing, other = claim_all(worker)
    worker.fail(failing, "RUNTIME_ERROR")
    assert worker.beat(other).json()["cancel"]
    assert site.submission(shown["id"]).status == "running"


def test_only_protocols_that_split_datasets_go_dataset_by_dataset() -> None:
    assert TasksSpec(protocol={"name": "within_domain"}, each_dataset=True).each_dataset
    with pytest.raises(ValidationError, match="splits their classes: within_domain"):
        TasksSpec(protocol={"name": "any_way_any_shot"}, each_dataset=True)
    with pytest.raises(ValidationError, match="leave `shards` at 1"):
        TasksSpec(protocol={"name": "within_domain"}, each_dataset=True, shards=2)

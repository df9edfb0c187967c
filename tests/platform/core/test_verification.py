"""A score counts only if it follows from the predictions: it is computed again from what a worker hands in."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anyshot_core.results import write_results
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import summarize
from anyshot_scoring.table import TaskTable
from tests.platform.core.test_shards import make_predictions, store
from tests.platform.site import PaperWorker, Site

TASKS = range(10)
Told = tuple[Predictions, TaskTable, dict[str, Any]]


def honest() -> Told:
    """Predictions, the table that they score, and its summary."""
    predictions = make_predictions(TASKS)
    table = predictions.score()
    return predictions, table, summarize(table, TASKS).to_dict()


def a_better_score() -> Told:
    predictions, table, summary = honest()
    return predictions, table, {**summary, "mean": 0.99}


def a_better_dataset() -> Told:
    predictions, table, summary = honest()
    first, *others = summary["by_dataset"]
    return predictions, table, {**summary, "by_dataset": [{**first, "mean": 0.99}, *others]}


def a_narrower_interval() -> Told:
    predictions, table, summary = honest()
    return predictions, table, {**summary, "half_width": 0.001}


def no_interval() -> Told:
    predictions, table, summary = honest()
    return predictions, table, {**summary, "half_width": None}


def a_negative_interval() -> Told:
    predictions, table, summary = honest()
    return predictions, table, {**summary, "half_width": -0.1}


def a_better_table() -> Told:
    predictions, table, _ = honest()
    best = replace(table, normalized_accuracy=np.ones(len(table)))
    return predictions, best, summarize(best, TASKS).to_dict()


def one_better_task() -> Told:
    predictions, table, _ = honest()
    accuracy = table.normalized_accuracy.copy()
    accuracy[3] += 0.01
    better = replace(table, normalized_accuracy=accuracy)
    return predictions, better, summarize(better, TASKS).to_dict()


def answers_to_other_tasks() -> Told:
    _, table, summary = honest()
    return make_predictions(range(1, 11)), table, summary


def the_best_task_many_times() -> Told:
    """Ten rows, as many as the run has tasks, and all of them are of one task."""
    predictions = make_predictions([0] * len(TASKS))
    table = predictions.score()
    return predictions, table, {**honest()[2], "mean": float(table.normalized_accuracy.mean())}


LIES: dict[Callable[[], Told], str] = {
    a_better_score: "The summary's mean is not that of results.parquet",
    a_better_dataset: "The summary's by_dataset is not that of results.parquet",
    a_narrower_interval: "The summary's half_width is not that of results.parquet",
    no_interval: "The summary's half_width is not that of results.parquet",
    a_negative_interval: "The interval's half width is -0.1, and can only be 0 or more.",
    a_better_table: "is not what its predictions score",
    one_better_task: "normalized_accuracy of task 3 is not what its predictions score",
    answers_to_other_tasks: "predictions.parquet has answers to other tasks than results.parquet",
    the_best_task_many_times: "",
}


def hand_in(worker: PaperWorker, told: Told, folder: Path) -> None:
    """Hand these files and this summary in, as the result of the next run."""
    job = worker.claim()
    assert job is not None
    predictions, table, summary = told
    write_results(folder / "results.parquet", table, {"tasks": len(table)})
    files = {
        "results.parquet": (folder / "results.parquet").read_bytes(),
        "predictions.parquet": store(folder / "predictions.parquet", predictions),
    }
    artifacts = []
    for name, body in files.items():
        assert worker.put(job, name, body).status_code == 204
        artifacts.append({"name": name, "digest": hashlib.sha256(body).hexdigest(), "size": len(body)})
    assert worker.complete(job, 0.0, summary=summary, artifacts=artifacts).status_code == 204


def test_what_follows_from_the_predictions_is_the_score(site: Site, tmp_path: Path) -> None:
    site.member("alice").submit()
    hand_in(site.worker(), honest(), tmp_path)
    (row,) = site.board()["rows"]
    assert row["score"] == pytest.approx(make_predictions(TASKS).score().normalized_accuracy.mean())


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_what_does_not_follow_from_the_predictions_is_no_score_and_operators_are_told(
    site: Site, tmp_path: Path, lie: Callable[[], Told]
) -> None:
    alice, admin = site.member("alice"), site.person("adam", is_site_admin=True)
    shown = alice.submit().json()["id"]
    worker = site.worker()
    hand_in(worker, lie(), tmp_path)
    assert site.board()["rows"] == []
    seen = alice.call("GET", f"/api/v1/submissions/{shown}").json()
    assert (seen["status"], seen["score"], seen["runs"][0]["attempt"]) == ("queued", None, 1), (
        "it is tried again"
    )
    told = site.client.get("/admin", headers=admin.headers).text
    assert "that cannot be true" in told and LIES[lie] in told.replace("&#39;", "'")
    hand_in(worker, honest(), tmp_path)
    assert len(site.board()["rows"]) == 1

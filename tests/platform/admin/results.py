"""Runs with real tables of tasks, and a real worker's code for the platform's reports."""

import hashlib
import io
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import httpx
import numpy as np
from fastapi.testclient import TestClient

from anyshot_core.results import write_predictions, write_results
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import summarize
from anyshot_scoring.table import TaskTable
from anyshot_worker.attempt import Site as WorkerSite
from anyshot_worker.carry_out import carry_out
from anyshot_worker.client import WorkerClient
from anyshot_worker.sandbox import Sandboxes
from anyshot_worker.workspace import Workspace
from tests.contract.recording import worker_info
from tests.platform.site import PaperWorker, Site
from tests.scoring.simulated import draw_run_by_class

METRICS = (
    "normalized_accuracy",
    "balanced_accuracy",
    "accuracy",
    "macro_f1",
    "macro_precision",
    "macro_recall",
)
DATASETS = ("alpha", "beta", "gamma")


def draw_table(skill: float, tasks: int, seed: int) -> TaskTable:
    """A run's results: hard and easy tasks are the same for everybody, the rest is the submission's own chance."""
    shared, own = np.random.default_rng(1), np.random.default_rng(seed)
    score = skill + 0.1 * shared.normal(size=tasks) + 0.02 * own.normal(size=tasks)
    names = np.array([DATASETS[i % 3] for i in range(tasks)])
    score = score + np.array([{"alpha": 0.1, "beta": 0.0, "gamma": -0.1}[name] for name in names])
    columns: dict[str, Any] = {"task": np.arange(tasks), "dataset": names, "domain": names}
    columns |= {"ways": np.tile([2, 5], tasks)[:tasks], "shots": np.full(tasks, 5)}
    columns |= {"queries": np.full(tasks, 100), **dict.fromkeys(METRICS, score)}
    columns |= {"fit_seconds": np.zeros(tasks), "predict_seconds": np.zeros(tasks)}
    return TaskTable.from_columns(columns)


def finish_with_results(worker: PaperWorker, skill: float, seed: int) -> str:
    """Complete the next run with a table of tasks; returns its submission."""
    job = worker.claim()
    assert job is not None
    return finish(worker, job, draw_table(skill, job["tasks"], seed), None)


def finish_with_table(worker: PaperWorker, table: TaskTable) -> str:
    """Complete the next run with this table; returns its submission."""
    job = worker.claim()
    assert job is not None
    return finish(worker, job, table, None)


def finish_with_scores(worker: PaperWorker, job: dict[str, Any], scores: Mapping[str, float]) -> str:
    """Complete a run that has the same score on all tasks of a dataset, as many of each; returns its submission."""
    names = np.array([list(scores)[task % len(scores)] for task in range(job["tasks"])])
    table = draw_table(0.0, job["tasks"], 0)
    score = np.array([scores[name] for name in names])
    return finish(worker, job, replace(table, dataset=names, normalized_accuracy=score), None)


def finish_with_predictions(worker: PaperWorker, skill: float, seed: int) -> str:
    """Complete the next run with predictions by class, and the table that follows; returns its submission."""
    job = worker.claim()
    assert job is not None
    skills = np.full((2, 8), skill)
    predictions = draw_run_by_class(seed, 0, skills, tasks=job["tasks"] // 2)
    return finish(worker, job, predictions.score(), predictions)


def finish_with_exports(
    worker: PaperWorker, predictions: Predictions, exports: Mapping[str, Mapping[str, Any]]
) -> str:
    """Complete the next run with predictions and exported arrays by file; returns its submission."""
    job = worker.claim()
    assert job is not None
    files = dict[str, bytes]()
    for name, arrays in exports.items():
        file = io.BytesIO()
        np.savez(file, **arrays)
        files[name] = file.getvalue()
    return finish(worker, job, predictions.score(), predictions, files)


def finish(
    worker: PaperWorker,
    job: dict[str, Any],
    table: TaskTable,
    predictions: Predictions | None,
    more: Mapping[str, bytes] = MappingProxyType({}),
) -> str:
    """Complete a run with a table of tasks and the predictions that it is of; returns its submission."""
    meta = {"run": job["run_id"], "protocol_digest": "p", "same_test_tasks": job["same_test_tasks"]}
    files = {"results.parquet": io.BytesIO()}
    write_results(files["results.parquet"], table, meta)  # pyright: ignore[reportArgumentType]
    if predictions is not None:
        files["predictions.parquet"] = io.BytesIO()
        write_predictions(files["predictions.parquet"], predictions, meta)  # pyright: ignore[reportArgumentType]
    references = []
    for name, content in ({name: file.getvalue() for name, file in files.items()} | dict(more)).items():
        assert worker.put(job, name, content).is_success
        references.append({"name": name, "digest": hashlib.sha256(content).hexdigest(), "size": len(content)})
    found = summarize(table, table.task.tolist())
    done = worker.complete(job, found.mean, summary=found.to_dict(), artifacts=references)
    assert done.status_code == 204, done.text
    return job["submission_id"]


class Bridge(httpx.BaseTransport):
    """Carries a worker's requests into the application of the test."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.client.request(
            request.method, str(request.url), headers=dict(request.headers), content=request.read()
        )
        return httpx.Response(answer.status_code, content=answer.content)


def work_off(site: Site, folder: Path) -> int:
    """Let a real worker carry out what is queued, reports above all; returns how many runs it took."""
    paper = site.worker("real")
    client = WorkerClient("http://testserver", paper.token, transport=Bridge(site.client))
    workspace = Workspace(folder / "workspace", 1 << 30, client)
    place = WorkerSite("real", client, workspace, cast(Sandboxes, None), threading.Event())
    taken = 0
    while (assignment := client.claim(worker_info(name="real", images=[], gpus=[]))) is not None:
        carry_out(assignment, place)
        taken += 1
    return taken

"""The archive's script finds the boards right, and draws as wide intervals as there are tasks."""

import csv
import importlib.util
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anyshot_platform
from anyshot_platform.running.exports.tables import BOARD_COLUMNS
from anyshot_scoring.table import TaskTable
from tests.platform.admin.results import draw_table
from tests.platform.admin.test_manage import BASE
from tests.platform.core import test_each_dataset as each_dataset
from tests.platform.core import test_shards as shards
from tests.platform.site import Site, make_zip

SCRIPT = Path(anyshot_platform.__file__).parent / "running" / "exports" / "reproduce.txt"
FOLLOW = "All scores and ranks on the boards follow from the results."


def unpack(site: Site, folder: Path) -> None:
    """The organizers' archive."""
    archive = site.owner().call("GET", f"{BASE}/exports/archive.zip").content
    zipfile.ZipFile(io.BytesIO(archive)).extractall(folder)


def reproduce(folder: Path) -> None:
    """Run the script of an archive in its folder; without a process of its own, which takes seconds."""
    spec = importlib.util.spec_from_file_location("reproduce", folder / "reproduce.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main()


def tasks_of(folder: Path) -> dict[str, list[int]]:
    """The tasks of each run in the table, in order."""
    found: dict[str, list[int]] = {}
    for row in pq.read_table(folder / "results.parquet").to_pylist():
        found.setdefault(row["run"], []).append(row["task"])
    return {run: sorted(tasks) for run, tasks in found.items()}


def difficulties_of(folder: Path) -> list[str]:
    """The datasets whose difficulty is in the table."""
    with (folder / "tables" / "feedback-free-difficulty.csv").open(newline="") as file:
        return [row["dataset"] for row in csv.DictReader(file)]


def test_a_run_in_shards_is_in_the_archive_once(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its first part has the table of the whole: the other parts added their tasks to it again."""
    site.set_version(shards=3)
    site.member("alice").submit()
    worker = site.worker()
    for _ in range(3):
        job = worker.claim()
        assert job is not None
        shards.hand_in(worker, job, tmp_path)
    unpack(site, tmp_path)
    assert list(tasks_of(tmp_path).values()) == [list(range(10))]
    reproduce(tmp_path)
    assert FOLLOW in capsys.readouterr().out


def test_an_archive_takes_a_failure_on_a_dataset_as_the_board_does(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script left the tasks out that count as 0, and stopped at the dataset that not all have a score on."""
    each_dataset.by_dataset(site, ranking_rule="dataset_ranks_worst")
    worker = site.worker()
    site.member("alice").submit()
    failing, other = each_dataset.claim_all(worker)
    worker.fail(failing, "RUNTIME_ERROR")
    answered = each_dataset.tasks_of(other)
    each_dataset.hand_in(worker, other, tmp_path)
    site.member("bob").submit(make_zip(salt="bob"))
    for job in each_dataset.claim_all(worker):
        each_dataset.hand_in(worker, job, tmp_path)
    unpack(site, tmp_path)
    assert list(tasks_of(tmp_path).values()) == [answered, list(range(each_dataset.TASKS))]
    reproduce(tmp_path)
    said = capsys.readouterr().out
    assert FOLLOW in said
    assert "feedback-free: difficulty leaves out what not all have a score on: d0." in said
    assert difficulties_of(tmp_path) == ["d1"]


def write_archive(folder: Path, rows: list[tuple[Mapping[str, Any], TaskTable]], **board: Any) -> None:
    """What the script reads, of one submission: its runs with what is said of each, and its line on the board."""
    folder.mkdir()
    (folder / "reproduce.py").write_bytes(SCRIPT.read_bytes())
    tables = []
    for about, table in rows:
        said = {"submission": "s1", "version": 1, "generation": 0, "run_tasks": len(table), **about}
        fixed = {name: [value] * len(table) for name, value in said.items()}
        tables.append(pa.table({**fixed, **{key: list(own) for key, own in table.columns().items()}}))
    pq.write_table(pa.concat_tables(tables), folder / "results.parquet")
    line = dict.fromkeys(BOARD_COLUMNS, "") | {"phase": "p", "version": 1, "league": "l", "rule": "mean_run"}
    line |= {"rank": 1, "team": "ada", "submission": "s1", "baseline": False, "by_dataset": json.dumps({})}
    line |= {"uploaded": "2026-01-01T00:00:00+00:00", **board}
    with (folder / "leaderboards.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list[str](BOARD_COLUMNS))
        writer.writeheader()
        writer.writerow(line)


def figures_of_runs(folder: Path, table: TaskTable, runs: int, *, shared: bool) -> dict[str, str]:
    """The figures of a submission whose seeded runs all came to the same, by file."""
    score = float(table.normalized_accuracy.mean())
    about = [{"seed_index": seed, "same_test_tasks": shared} for seed in range(runs)]
    write_archive(folder, [(one, table) for one in about], score=score, runs=runs)
    reproduce(folder)
    return {path.name: path.read_text() for path in (folder / "figures").iterdir()}


def test_figures_count_a_task_once_that_all_runs_met(tmp_path: Path) -> None:
    """Three equal runs of 60 tasks tell as much as one of them; their intervals were narrower by the root of 3."""
    table = draw_table(0.5, 60, seed=1)
    one = figures_of_runs(tmp_path / "one", table, 1, shared=True)
    assert set(one) == {"p-l-ways.svg", "p-l-shots.svg", "p-l-datasets-1.svg"}
    assert figures_of_runs(tmp_path / "same", table, 3, shared=True) == one
    others = figures_of_runs(tmp_path / "others", table, 3, shared=False)
    assert all(others[name] != one[name] for name in one), "tasks of their own are more tasks"


def test_a_rerun_that_was_partly_lost_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The board stands with the last whole result; the script took the run that was left of the newest one."""
    table = draw_table(0.5, 6, seed=1)
    lost = replace(table, normalized_accuracy=np.zeros(6))
    keys = ((0, 0), (0, 1), (1, 0))
    about = [{"generation": one, "seed_index": seed, "same_test_tasks": False} for one, seed in keys]
    score = float(table.normalized_accuracy.mean())
    write_archive(tmp_path / "a", list(zip(about, (table, table, lost), strict=True)), score=score, runs=2)
    reproduce(tmp_path / "a")
    assert FOLLOW in capsys.readouterr().out

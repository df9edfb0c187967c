"""Which runs are found in files as they come: of runs, of a submission, of a competition; alike, in parts, damaged."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anyshot_core.results import find_runs, write_results
from anyshot_core.results.formats import BadResultsFile
from anyshot_scoring.table import TaskTable
from tests.scoring.drawn import draw_table

TABLE = draw_table(1, 8)


def rows(table: TaskTable, places: slice) -> TaskTable:
    return TaskTable.from_columns({name: column[places] for name, column in table.columns().items()})


def put(path: Path, table: TaskTable = TABLE, **identity: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_results(path, table, identity)
    return path


def zip_of(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def results_of(table: TaskTable, **identity: Any) -> bytes:
    target = io.BytesIO()
    write_results(target, table, identity)
    return target.getvalue()


def csv_of(table: TaskTable, run: str = "1", **more: str) -> bytes:
    columns = {"run": [run] * len(table), **{name: c.tolist() for name, c in table.columns().items()}}
    columns |= {name: [value] * len(table) for name, value in more.items()}
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return ("\n".join(lines) + "\n").encode()


def test_parts_of_a_run_are_one_and_what_comes_twice_counts_once(tmp_path: Path) -> None:
    first = put(tmp_path / "mine/run-1-part-0/results.parquet", rows(TABLE, slice(0, 4)))
    second = put(tmp_path / "mine/run-1-part-1/results.parquet", rows(TABLE, slice(4, 8)))
    again = put(tmp_path / "copy.parquet", rows(TABLE, slice(2, 4)), who="mine", run="1")
    (found,) = find_runs([first, second, again])["mine"]
    assert sorted(found.table.task.tolist()) == sorted(TABLE.task.tolist())
    assert set(found.sources) == {str(first), str(second), str(again)} and set(found.positions) == {0, 1, 2}


def test_two_that_say_they_are_one_run_and_differ_are_named(tmp_path: Path) -> None:
    one = put(tmp_path / "a.parquet", who="mine", run="1")
    two = put(tmp_path / "b.parquet", draw_table(2, 8), who="mine", run="1")
    with pytest.raises(BadResultsFile, match=r"both say that they are run 1 of mine, and differ"):
        find_runs([one, two])


def test_parts_that_count_their_tasks_anew_have_no_task_twice(tmp_path: Path) -> None:
    other = TaskTable.from_columns(TABLE.columns() | {"dataset": np.array(["elsewhere"] * len(TABLE))})
    paths = [
        put(tmp_path / f"{name}.parquet", table, who="mine", run="1")
        for name, table in (("a", TABLE), ("b", other))
    ]
    (found,) = find_runs(paths)["mine"]
    assert sorted(found.table.task.tolist()) == list(range(16))


def test_runs_come_in_the_order_of_their_numbers_and_those_without_one_last(tmp_path: Path) -> None:
    paths = [
        put(tmp_path / f"{run}.parquet", draw_table(place, 4), who="mine", run=run)
        for place, run in enumerate(("10", "9", "b"))
    ]
    found = find_runs(paths)["mine"]
    assert [run.identity.run for run in found] == ["9", "10", "b"]


def test_submissions_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = [
        put(tmp_path / "a.parquet", who="mine", code="0123456789ab"),
        put(tmp_path / "b.parquet", who="mine", code="ba9876543210"),
        put(tmp_path / "c.parquet", who="mine"),
        put(tmp_path / "d.parquet", who="other"),
    ]
    assert set(find_runs(paths)) == {"mine (01234567)", "mine (ba987654)", "mine", "other"}


ABOUT = json.dumps({"id": "f00d", "team": "Ada", "number": 3}).encode()


def test_everything_of_a_submission_gives_its_runs(tmp_path: Path) -> None:
    path = zip_of(
        tmp_path / "everything.zip",
        {
            "submission.json": ABOUT,
            "runs/1/results.parquet": results_of(TABLE),
            "runs/2/results.parquet": results_of(draw_table(2, 8), run="2"),
            "runs/2/log.txt": b"",
        },
    )
    found = find_runs([path])["Ada #3"]
    assert [(run.identity.run, run.identity.submission) for run in found] == [("1", "f00d"), ("2", "f00d")]


def test_where_its_results_are_not_given_out_the_table_of_tasks_is_read(tmp_path: Path) -> None:
    files = {"submission.json": ABOUT, "tasks.csv": csv_of(TABLE, same_test_tasks="true")}
    (found,) = find_runs([zip_of(tmp_path / "everything.zip", files)])["Ada #3"]
    assert found.identity.same_test_tasks and found.table.task.tolist() == TABLE.task.tolist()
    np.testing.assert_allclose(found.table.normalized_accuracy, TABLE.normalized_accuracy)
    (alone,) = find_runs([zip_of(tmp_path / "nobody.zip", {"tasks.csv": csv_of(TABLE)})])["nobody"]
    assert not alone.identity.same_test_tasks


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"readme.txt": b""}, "holds no results. Was the run scored, and may you see its scores?"),
        ({"submission.json": b"{", "tasks.csv": b""}, "submission.json is not JSON"),
        ({"tasks.csv": b"task,score\n1,2\n"}, "no table of tasks with a column `run`"),
        ({"tasks.csv": csv_of(TABLE).replace(b",5,", b",many,")}, "column "),
        ({"tasks.csv": csv_of(TABLE).replace(b"normalized_accuracy", b"score")}, "normalized_accuracy"),
    ],
)
def test_a_zip_without_results_says_what_it_lacks(
    tmp_path: Path, files: dict[str, bytes], words: str
) -> None:
    with pytest.raises(BadResultsFile) as caught:
        find_runs([zip_of(tmp_path / "everything.zip", files)])
    assert words in str(caught.value)


def test_a_file_that_is_no_zip_is_said_to_be_none(tmp_path: Path) -> None:
    (path := tmp_path / "everything.zip").write_bytes(b"not a zip")
    with pytest.raises(BadResultsFile, match=r"everything\.zip"):
        find_runs([path])


def test_an_archive_gives_the_newest_runs_of_each_submission(tmp_path: Path) -> None:
    """Of version 1 and 2 the second, and of its generations the newest: what the board counted in the end."""
    parts = []
    for place, (submission, version, generation, seed) in enumerate(
        [("s1", 1, 1, 0), ("s1", 2, 1, 0), ("s1", 2, 2, 0), ("s1", 2, 2, 1), ("s2", 1, 1, 0)]
    ):
        columns = draw_table(place, 4).columns()
        site = {"team": "Ada", "submission": submission, "run": f"r{place}", "phase": "final"}
        numbers = {"version": version, "generation": generation, "seed_index": seed}
        parts.append(pa.table(columns | {name: [v] * 4 for name, v in (site | numbers).items()}))
    pq.write_table(pa.concat_tables(parts), tmp_path / "results.parquet")
    found = find_runs([tmp_path / "results.parquet"])
    runs = {name: [(run.identity.run_id, run.identity.run) for run in own] for name, own in found.items()}
    assert runs == {"Ada (s1)": [("r2", "1"), ("r3", "2")], "Ada (s2)": [("r4", "1")]}


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no file .*missing\.parquet"):
        find_runs([tmp_path / "missing.parquet"])

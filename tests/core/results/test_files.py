import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anyshot_core.results import (
    BadResultsFile,
    read_predictions,
    read_results,
    write_predictions,
    write_results,
)
from anyshot_scoring.errors import BadTable
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.table import TaskTable
from tests.scoring.drawn import draw_run, draw_table

META = {"competition": "cross-domain", "run": "r-17", "train_seed": 93, "who": "Ünïcode"}


def test_results_come_back_as_they_went(tmp_path: Path):
    table = draw_table(0, 50)
    write_results(tmp_path / "results.parquet", table, META)
    again, meta = read_results(tmp_path / "results.parquet")
    assert meta == META
    for name, column in table.columns().items():
        np.testing.assert_array_equal(again.columns()[name], column)


def test_predictions_come_back_and_score_the_same(tmp_path: Path):
    run = draw_run(3, 40)
    write_predictions(tmp_path / "predictions.parquet", run, META)
    again, meta = read_predictions(tmp_path / "predictions.parquet")
    assert meta == META
    for name, value in vars(run).items():
        np.testing.assert_array_equal(getattr(again, name), value)
    np.testing.assert_array_equal(again.score().normalized_accuracy, run.score().normalized_accuracy)


def test_files_can_be_buffers_and_equal_input_gives_equal_bytes():
    buffers = [io.BytesIO(), io.BytesIO()]
    for buffer in buffers:
        write_results(buffer, draw_table(0, 50), META)
    assert buffers[0].getvalue() == buffers[1].getvalue()
    buffers[0].seek(0)
    assert len(read_results(buffers[0]).table) == 50


def test_a_failed_task_keeps_its_nan(tmp_path: Path):
    columns = draw_table(0, 3).columns()
    columns["accuracy"] = np.array([0.5, np.nan, 0.5])
    write_results(tmp_path / "r", TaskTable.from_columns(columns), {})
    assert np.isnan(read_results(tmp_path / "r").table.accuracy).tolist() == [False, True, False]


def test_a_run_without_tasks(tmp_path: Path):
    empty = draw_run(0, 0)
    write_predictions(tmp_path / "p", empty, {})
    write_results(tmp_path / "r", empty.score(), {})
    assert len(read_predictions(tmp_path / "p").predictions) == 0
    assert len(read_results(tmp_path / "r").table) == 0


def test_another_kind_another_version_and_no_parquet_are_refused(tmp_path: Path):
    write_results(tmp_path / "results", draw_table(0, 3), {})
    with pytest.raises(BadResultsFile, match="holds results, expected Anyshot predictions"):
        read_predictions(tmp_path / "results")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign")
    with pytest.raises(BadResultsFile, match="something unmarked"):
        read_results(tmp_path / "foreign")
    marked = pa.table({"a": [1]}).replace_schema_metadata({"anyshot.kind": "results", "anyshot.version": "2"})
    pq.write_table(marked, tmp_path / "newer")
    with pytest.raises(BadResultsFile, match="format version 2; this release reads version 1"):
        read_results(tmp_path / "newer")
    (tmp_path / "noise").write_bytes(os.urandom(500))
    with pytest.raises(BadResultsFile, match="not readable"):
        read_results(tmp_path / "noise")
    with pytest.raises(FileNotFoundError):
        read_results(tmp_path / "nowhere")


def test_missing_columns_wrong_types_and_broken_marks_are_refused(tmp_path: Path):
    marks = {"anyshot.kind": "results", "anyshot.version": "1", "anyshot.meta": "{}"}
    pq.write_table(pa.table({"task": [1]}).replace_schema_metadata(marks), tmp_path / "lacking")
    with pytest.raises(BadResultsFile, match="lacks the columns dataset"):
        read_results(tmp_path / "lacking")
    write_results(tmp_path / "good", draw_table(0, 2), {})
    good = pq.read_table(tmp_path / "good")
    wrong = good.set_column(3, "ways", pa.array(["two", "three"]))
    pq.write_table(wrong, tmp_path / "wrong")
    with pytest.raises(BadResultsFile, match="wrong type"):
        read_results(tmp_path / "wrong")
    for meta, message in (("[]", "not an object"), ("{", "not JSON")):
        pq.write_table(good.replace_schema_metadata({**marks, "anyshot.meta": meta}), tmp_path / "meta")
        with pytest.raises(BadResultsFile, match=message):
            read_results(tmp_path / "meta")


def test_predictions_of_unequal_length_are_refused(tmp_path: Path):
    write_predictions(tmp_path / "p", draw_run(0, 2), {})
    table = pq.read_table(tmp_path / "p")
    for column, message in (("predictions", "as many predictions as labels"), ("classes", "classes as ways")):
        lists = table[column].to_pylist()
        position = table.column_names.index(column)
        field = table.schema.field(column)
        shorter = table.set_column(position, field, pa.array([lists[0][1:], lists[1]], type=field.type))
        pq.write_table(shorter, tmp_path / "short")
        with pytest.raises(BadResultsFile, match=message):
            read_predictions(tmp_path / "short")


def test_predictions_must_match_their_labels_when_they_are_joined():
    common = {"task": [0], "dataset": ["D"], "domain": [""], "ways": [2], "shots": [1]}
    with pytest.raises(BadTable, match="as many predictions as labels"):
        Predictions.from_tasks(**common, predictions=[[0]], labels=[[0, 1]])
    with pytest.raises(BadTable, match="3 classes for 2 ways"):
        Predictions.from_tasks(**common, predictions=[[0, 1]], labels=[[0, 1]], classes=[[4, 5, 6]])
    assert Predictions.from_tasks(**common, predictions=[[0, 1]], labels=[[0, 1]]).classes.tolist() == [
        -1,
        -1,
    ]

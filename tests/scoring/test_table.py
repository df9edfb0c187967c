from typing import Any

import numpy as np
import pytest

from anyshot_scoring.errors import BadTable
from anyshot_scoring.table import COLUMNS, TaskTable
from tests.scoring.drawn import draw_table


def test_columns_and_from_columns_are_inverse():
    table = draw_table(0, 20)
    again = TaskTable.from_columns(table.columns())
    assert list(again.columns()) == list(COLUMNS)
    for name, column in table.columns().items():
        np.testing.assert_array_equal(again.columns()[name], column)


def test_concatenate_keeps_long_names_whole():
    short, long = draw_table(0, 2), draw_table(1, 2)
    renamed = TaskTable.from_columns({**long.columns(), "dataset": ["a much longer name"] * 2})
    assert TaskTable.concatenate([short, renamed]).dataset[-1] == "a much longer name"


def test_select_and_sorted():
    table = draw_table(0, 10)
    assert table.select(table.task >= 4).task.tolist() == [4, 5, 6, 7, 8, 9]
    assert table.select(np.arange(9, -1, -1)).sorted().task.tolist() == list(range(10))


def test_an_empty_table_has_typed_columns():
    table = TaskTable.from_columns(dict.fromkeys(COLUMNS, ()))
    assert len(table) == 0
    assert table.task.dtype == np.int64
    assert table.dataset.dtype.kind == "U"


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("ways", [2.5] * 10, "whole numbers"),
        ("ways", ["x"] * 10, "ways"),
        ("ways", [2] * 9, "equally long"),
        ("accuracy", ["good"] * 10, "accuracy"),
    ],
)
def test_bad_columns_are_refused(name: str, values: list[Any], message: str):
    columns = {**draw_table(0, 10).columns(), name: values}
    with pytest.raises(BadTable, match=message):
        TaskTable.from_columns(columns)


def test_whole_floats_are_integers():
    columns = {**draw_table(0, 3).columns(), "ways": [2.0, 3.0, 4.0]}
    assert TaskTable.from_columns(columns).ways.tolist() == [2, 3, 4]


def test_missing_columns_are_named():
    with pytest.raises(BadTable, match="lacks the columns dataset, domain"):
        TaskTable.from_columns({"task": [0]})


def test_nothing_to_concatenate():
    with pytest.raises(BadTable):
        TaskTable.concatenate([])

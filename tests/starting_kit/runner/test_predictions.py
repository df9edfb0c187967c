"""Reducing what `predict` returned."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from anyshot_starting_kit.runner.predictions import BadPrediction, reduce_predictions


def test_ties_go_to_the_lowest_index_at_full_precision() -> None:
    small = np.array([[1e-12, 2e-12], [5.0, 5.0], [np.inf, np.inf], [-np.inf, -np.inf]])
    assert reduce_predictions(small, 4, 2).tolist() == [1, 0, 0, 0]


def test_float_labels_are_truncated() -> None:
    assert reduce_predictions(np.array([0.9, 1.999, -0.5]), 3, 2).tolist() == [0, 1, 0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float64, np.bool_])
def test_types_of_labels(dtype: type) -> None:
    assert reduce_predictions(np.array([0, 1, 1], dtype=dtype), 3, 2).dtype == np.int64


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_tensors(dtype: torch.dtype) -> None:
    matrix = torch.eye(3, dtype=dtype, requires_grad=True)
    assert reduce_predictions(matrix, 3, 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (np.zeros((2, 2)), r"shape \[2, 2\]; wanted is \[3, 2\]"),
        (np.zeros((3, 2, 1)), r"shape \[3, 2, 1\]"),
        (np.array(5), r"shape \[\]"),
        (np.array([[0, np.nan], [0, 0], [0, 0]]), r"1 NaN, the first at \[0, 1\]"),
        (np.array([0, np.nan, 1]), "label nan at position 1"),
        (np.array([0, 1, 2]), "label 2 at position 2; labels run from 0 to 1"),
        (np.zeros(3, dtype=complex), "type complex128"),
        (np.array([None] * 3), "type object"),
        ("abc", "type <U3"),
        ({"a": 1}, "type object"),
    ],
    ids=range(10),
)
def test_what_cannot_be_scored(answer: object, told: str) -> None:
    with pytest.raises(BadPrediction, match=told):
        reduce_predictions(answer, 3, 2)

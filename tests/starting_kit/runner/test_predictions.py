"""Reducing what `predict` returned."""

import numpy as np
import pytest
import torch

from anyshot_starting_kit.runner.predictions import (
    BadPrediction,
    labels_and_probabilities,
    reduce_predictions,
)


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
        (np.zeros((2, 2)), r"shape \[2, 2\]; expected \[3, 2\]"),
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


def shares(answer: object, ways: int) -> np.ndarray:
    """The probabilities of an answer; what is likeliest is what is predicted."""
    labels, found = labels_and_probabilities(answer, len(answer), ways)  # pyright: ignore[reportArgumentType]
    assert found is not None and found.dtype == np.float32
    assert (found[np.arange(len(labels)), labels] == found.max(axis=1)).all()
    assert found.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    return found


def test_probabilities_are_taken_as_they_are_and_logits_by_softmax() -> None:
    stated = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5004]])
    assert shares(stated, 2) == pytest.approx(stated, abs=3e-4), "of sum 1 within a thousandth"
    logits = np.log(np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]]))
    for shift in (0.0, 7.5, -900.0):
        assert shares(logits + shift, 3) == pytest.approx(np.exp(logits), abs=1e-6)
    mixed = np.array([[0.5, 0.5], [0.5, 0.6]])  # one row that is none makes all of them logits
    assert shares(mixed, 2)[1, 1] == pytest.approx(1 / (1 + np.exp(-0.1)), abs=1e-6)
    assert shares(torch.tensor([[9.0, -9.0]], dtype=torch.bfloat16), 2)[0, 0] == pytest.approx(1, abs=1e-6)


def test_infinite_logits_share_what_there_is() -> None:
    rows = np.array([[np.inf, 3.0], [np.inf, np.inf], [-np.inf, -np.inf], [-np.inf, 0.0], [1e308, np.inf]])
    assert shares(rows, 2)[:4].tolist() == [[1, 0], [0.5, 0.5], [0.5, 0.5], [0, 1]]


def test_labels_have_no_probabilities_and_nonsense_is_refused_as_before() -> None:
    labels, none = labels_and_probabilities(np.array([1, 0]), 2, 2)
    assert labels.tolist() == [1, 0] and none is None
    with pytest.raises(BadPrediction, match="1 NaN"):
        labels_and_probabilities(np.array([[0, np.nan], [0, 0]]), 2, 2)

"""Reduces what `predict` returned to one int64 label per query image, or says what is wrong with it.

Probabilities of the classes are read from the same answer, where it has them.
"""

from typing import Any

import numpy as np

from anyshot_core.wire.messages import SUM_TOLERANCE


class BadPrediction(ValueError):
    """A prediction that cannot be scored; the message names what was found and what is wanted."""


def reduce_predictions(answer: Any, queries: int, ways: int) -> np.ndarray:
    """Labels int64 [queries] in [0, ways) from logits or probabilities [queries, ways] or labels [queries].

    A matrix is reduced by argmax at full precision, the lowest index winning a tie; infinities are legal in
    it, NaN never. Float labels are truncated. Raises BadPrediction.
    """
    return _labels_of(_as_array(answer), queries, ways)


def labels_and_probabilities(answer: Any, queries: int, ways: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The labels as `reduce_predictions` gives them, and float32 [queries, ways]; None where labels were returned."""
    array = _as_array(answer)
    labels = _labels_of(array, queries, ways)
    return labels, _shares(array) if array.shape == (queries, ways) else None


def _shares(matrix: np.ndarray) -> np.ndarray:
    """Rows that are distributions as they are, of sum 1 exactly; otherwise softmax of all rows.

    Infinities stand above all numbers, or below; several share what there is. The likeliest class stays the likeliest.
    """
    most = np.finfo(np.float64).max / 4
    values = np.clip(matrix.astype(np.float64), -most, most)
    sums = values.sum(axis=1, keepdims=True)
    if (values < 0).any() or (np.abs(sums - 1) > SUM_TOLERANCE).any():
        values = np.exp(values - values.max(axis=1, keepdims=True))
        sums = values.sum(axis=1, keepdims=True)
    return (values / sums).astype(np.float32)


def _labels_of(array: np.ndarray, queries: int, ways: int) -> np.ndarray:
    if array.dtype == bool:
        array = array.astype(np.int64)
    if not (np.issubdtype(array.dtype, np.integer) or np.issubdtype(array.dtype, np.floating)):
        raise BadPrediction(f"predict returned values of type {array.dtype}; expected numbers.")
    if array.shape == (queries, ways):
        return _from_matrix(array)
    if array.shape == (queries,):
        return _from_labels(array, ways)
    raise BadPrediction(
        f"predict returned an array of shape {list(array.shape)}; expected [{queries}, {ways}] "
        f"(logits or probabilities) or [{queries}] (labels)."
    )


def _as_array(answer: Any) -> np.ndarray:
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu()
        if "bfloat16" in str(answer.dtype):
            answer = answer.float()
        return answer.numpy()
    try:
        return np.asarray(answer)
    except (ValueError, TypeError) as error:
        raise BadPrediction(
            f"predict returned a {type(answer).__name__} that is no array ({error})."
        ) from error


def _from_matrix(array: np.ndarray) -> np.ndarray:
    if np.isnan(array).any():
        row, column = np.argwhere(np.isnan(array))[0]
        count = int(np.isnan(array).sum())
        raise BadPrediction(f"predict returned {count} NaN, the first at [{row}, {column}].")
    return array.argmax(axis=1).astype(np.int64)


def _from_labels(array: np.ndarray, ways: int) -> np.ndarray:
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise BadPrediction(f"predict returned the label {array[place]} at position {place}.")
    labels = np.trunc(array) if np.issubdtype(array.dtype, np.floating) else array
    wrong = np.flatnonzero((labels < 0) | (labels >= ways))
    if wrong.size:
        place = int(wrong[0])
        raise BadPrediction(
            f"predict returned the label {labels[place]} at position {place}; labels run from 0 to "
            f"{ways - 1}."
        )
    return labels.astype(np.int64)

"""The 2022 scorer, written again from its description: a loop over tasks that calls scikit-learn.

It averages recall over the union of the labels found in truth and prediction, not over the N classes.
"""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

_LOOP: dict[str, Callable[..., float]] = {
    "macro_f1": f1_score,
    "macro_precision": precision_score,
    "macro_recall": recall_score,
}


def score_task_2022(predictions: np.ndarray, labels: np.ndarray, ways: int) -> dict[str, float]:
    scores = {
        name: float(metric(labels, predictions, average="macro", zero_division=0))
        for name, metric in _LOOP.items()
    }
    chance = 1 / ways
    scores["balanced_accuracy"] = scores["macro_recall"]
    scores["normalized_accuracy"] = (scores["macro_recall"] - chance) / (1 - chance)
    scores["accuracy"] = float(accuracy_score(labels, predictions))
    return scores


def score_tasks_2022(
    predictions: np.ndarray, labels: np.ndarray, ways: np.ndarray, offsets: np.ndarray
) -> dict[str, np.ndarray]:
    rows = [
        score_task_2022(predictions[start:stop], labels[start:stop], int(n))
        for start, stop, n in zip(offsets[:-1], offsets[1:], ways, strict=True)
    ]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}

"""Confusion of classes over tasks, against counts by hand."""

import numpy as np
import pytest

from anyshot_scoring.confusion import confusion_by_dataset
from anyshot_scoring.errors import ScoringError
from anyshot_scoring.predictions import Predictions


def make(predictions: list[list[int]], classes: list[list[int]], dataset: str = "A") -> Predictions:
    """Two-way tasks with two queries a class."""
    n = len(predictions)
    return Predictions.from_tasks(
        task=np.arange(n),
        dataset=[dataset] * n,
        domain=[""] * n,
        ways=[2] * n,
        shots=[1] * n,
        predictions=predictions,
        labels=[[0, 0, 1, 1]] * n,
        classes=classes,
    )


def test_mistakes_count_under_the_classes_of_the_dataset() -> None:
    run = make([[0, 1, 1, 1], [0, 0, 0, 0]], [[7, 3], [3, 9]])
    (found,) = confusion_by_dataset([run])
    assert found.classes.tolist() == [3, 7, 9] and found.tasks == 2
    assert found.counts.tolist() == [[4, 0, 0], [1, 1, 0], [2, 0, 0]]
    assert found.together.tolist() == [[4, 2, 2], [2, 2, 0], [2, 0, 2]]


def test_a_rate_is_of_the_images_that_could_have_been_taken_for_the_other_class() -> None:
    (found,) = confusion_by_dataset([make([[0, 1, 1, 1], [0, 0, 0, 0]], [[7, 3], [3, 9]])])
    rates = found.rates()
    assert rates[2, 0] == 1.0 and rates[1, 0] == 0.5 and rates[0, 1] == 0.0
    assert np.isnan(rates[1, 2]), "classes 7 and 9 were in no task together"
    assert found.mistakes() == [(2, 0), (1, 0)]


def test_runs_add_up_and_datasets_stay_apart() -> None:
    first, second = make([[0, 0, 1, 1]], [[0, 1]], "B"), make([[1, 1, 0, 0]], [[0, 1]], "A")
    a, b = confusion_by_dataset([first, second, second])
    assert (a.dataset, b.dataset) == ("A", "B")
    assert a.counts.tolist() == [[0, 4], [4, 0]] and b.mistakes() == []


def test_tasks_of_unknown_classes_are_left_out() -> None:
    assert confusion_by_dataset([make([[0, 0, 1, 1]], [[-1, -1]])]) == ()


def test_a_prediction_outside_the_task_is_an_error() -> None:
    with pytest.raises(ScoringError):
        confusion_by_dataset([make([[0, 0, 1, 2]], [[0, 1]])])

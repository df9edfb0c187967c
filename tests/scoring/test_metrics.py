from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_score, recall_score

from anyshot_scoring.errors import BadPrediction, BadTask
from anyshot_scoring.metrics import score_task, score_tasks
from anyshot_scoring.table import METRICS
from tests.scoring.drawn import draw_predictions
from tests.scoring.scorer_2022 import score_task_2022, score_tasks_2022

Task = tuple[np.ndarray, np.ndarray, int]


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """A task with 2 to 20 ways, any positive number of query images a class, and any valid predictions."""
    ways = draw(st.integers(2, 20))
    counts = draw(st.lists(st.integers(1, 6), min_size=ways, max_size=ways))
    labels = np.repeat(np.arange(ways), counts)
    predictions = draw(st.lists(st.integers(0, ways - 1), min_size=len(labels), max_size=len(labels)))
    return np.array(predictions), labels, ways


@pytest.mark.seconds("thousands of tasks against a plain loop")
@given(tasks())
def test_each_metric_equals_scikit_learn_over_the_classes_of_the_task(task: Task):
    predictions, labels, ways = task
    scores = score_task(predictions, labels, ways)
    options = {"labels": np.arange(ways), "average": "macro", "zero_division": 0}
    assert scores["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(labels, predictions), abs=1e-12
    )
    assert scores["macro_recall"] == pytest.approx(recall_score(labels, predictions, **options), abs=1e-12)
    assert scores["macro_precision"] == pytest.approx(
        precision_score(labels, predictions, **options), abs=1e-12
    )
    assert scores["macro_f1"] == pytest.approx(f1_score(labels, predictions, **options), abs=1e-12)
    assert scores["accuracy"] == pytest.approx((labels == predictions).mean(), abs=1e-12)
    adjusted = balanced_accuracy_score(labels, predictions, adjusted=True)
    assert scores["normalized_accuracy"] == pytest.approx(adjusted, abs=1e-12)


@given(tasks())
def test_metrics_stay_within_their_bounds(task: Task):
    predictions, labels, ways = task
    scores = score_task(predictions, labels, ways)
    assert -1 / (ways - 1) - 1e-12 <= scores["normalized_accuracy"] <= 1 + 1e-12
    for name in METRICS[1:]:
        assert -1e-12 <= scores[name] <= 1 + 1e-12


@given(tasks(), st.randoms(use_true_random=False))
def test_renaming_the_classes_and_shuffling_the_queries_changes_nothing(task: Task, random: Random):
    predictions, labels, ways = task
    names = np.array(random.sample(range(ways), ways))
    order = np.array(random.sample(range(len(labels)), len(labels)))
    before = score_task(predictions, labels, ways)
    after = score_task(names[predictions][order], names[labels][order], ways)
    assert after == pytest.approx(before, abs=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 12))
@settings(max_examples=30)
def test_permuting_the_tasks_permutes_the_scores(seed: int, n: int):
    drawn = draw_predictions(seed, n, queries=3)
    order = np.random.default_rng(seed).permutation(n)
    parts = [drawn.task(i) for i in order]
    shuffled = score_tasks(
        np.concatenate([p for p, _, _ in parts]),
        np.concatenate([t for _, t, _ in parts]),
        drawn.ways[order],
        np.concatenate([[0], np.cumsum([len(t) for _, t, _ in parts])]),
    )
    straight = score_tasks(drawn.predictions, drawn.labels, drawn.ways, drawn.offsets)
    for name in METRICS:
        np.testing.assert_allclose(shuffled[name], straight[name][order], atol=1e-12)


@pytest.mark.seconds("thousands of tasks against a plain loop")
def test_many_tasks_equal_the_loop_of_the_2022_scorer_where_it_follows_the_formula():
    drawn = draw_predictions(1, 300)
    ours = score_tasks(drawn.predictions, drawn.labels, drawn.ways, drawn.offsets)
    loop = score_tasks_2022(drawn.predictions, drawn.labels, drawn.ways, drawn.offsets)
    for name in METRICS:
        np.testing.assert_allclose(ours[name], loop[name], rtol=0, atol=1e-12)


def test_the_2022_scorer_departs_from_the_formula_for_a_prediction_outside_the_task():
    labels = np.repeat(np.arange(5), 20)
    outside = labels.copy()
    outside[0] = 7
    wrong = labels.copy()
    wrong[0] = 1
    assert score_task_2022(outside, labels, 5)["normalized_accuracy"] == pytest.approx(0.78125, abs=1e-12)
    assert score_task(wrong, labels, 5)["normalized_accuracy"] == pytest.approx(0.9875, abs=1e-12)
    with pytest.raises(BadPrediction, match="prediction 0 is 7, allowed is 0 to 4"):
        score_task(outside, labels, 5)


def test_the_2022_scorer_departs_where_six_decimals_make_small_logits_equal():
    logits = np.array([[1e-7, 3e-7], [5e-7, 2e-7]])
    labels = np.array([1, 0])
    written = np.array([[float(f"{value:.6f}") for value in row] for row in logits])
    assert score_task(logits.argmax(axis=1), labels, 2)["accuracy"] == 1.0
    assert score_task_2022(written.argmax(axis=1), labels, 2)["accuracy"] == 0.5


def test_two_ways_by_hand():
    scores = score_task([0, 0, 0, 1], [0, 0, 1, 1], 2)
    assert scores["balanced_accuracy"] == 0.75
    assert scores["normalized_accuracy"] == 0.5
    assert scores["macro_precision"] == pytest.approx((2 / 3 + 1) / 2)
    assert scores["macro_f1"] == pytest.approx((4 / 5 + 2 / 3) / 2)


def test_a_class_that_is_never_predicted_counts_with_precision_and_f1_of_zero():
    scores = score_task([0, 0, 1, 1, 0, 1], [0, 0, 1, 1, 2, 2], 3)
    assert scores["macro_precision"] == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert scores["macro_recall"] == pytest.approx(2 / 3)
    assert scores["macro_f1"] == pytest.approx((0.8 + 0.8 + 0) / 3)


def test_always_wrong_is_below_chance():
    assert score_task([1, 0], [0, 1], 2)["normalized_accuracy"] == -1.0


def test_no_task_gives_empty_columns():
    assert {name: len(column) for name, column in score_tasks([], [], [], [0]).items()} == dict.fromkeys(
        METRICS, 0
    )


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([0, 1, 2, 0], "prediction 2 is 2"),
        ([0, -1, 1, 0], "prediction 1 is -1"),
        ([0, 1, 1], "3 predictions for 4"),
        ([0.0, 1.0, 1.0, float("nan")], "must be integers"),
        ([[0, 1], [1, 0]], "one-dimensional"),
        ([[0], [1, 0]], "not one flat array"),
        (np.array([0, 1, 1, 2**63], np.uint64), "beyond the range"),
        (["a", "b", "a", "b"], "must be integers"),
    ],
)
def test_bad_predictions_are_refused_with_their_reason(predictions: Any, message: str):
    with pytest.raises(BadPrediction, match=message):
        score_task(predictions, [0, 0, 1, 1], 2)


@pytest.mark.parametrize(
    ("labels", "ways", "message"),
    [
        ([0, 0, 0], 2, "class without query images"),
        ([0, 1, 2], 2, "label 2 is 2"),
        ([0, 0, 0], 1, "at least two"),
        ([], 2, "class without query images"),
    ],
)
def test_a_bad_task_is_not_the_participants_fault(labels: list[int], ways: int, message: str):
    with pytest.raises(BadTask, match=message):
        score_task([0] * len(labels), labels, ways)


def test_an_error_names_the_task():
    with pytest.raises(BadPrediction) as caught:
        score_tasks([0, 1, 0, 3], [0, 1, 0, 1], [2, 2], [0, 2, 4])
    assert caught.value.task == 1


@pytest.mark.parametrize("offsets", [[0, 2], [0, 2, 3], [1, 2, 4], [0, 5, 4]])
def test_offsets_must_cover_the_labels(offsets: list[int]):
    with pytest.raises(BadTask, match="offsets"):
        score_tasks([0, 1, 0, 1], [0, 1, 0, 1], [2, 2], offsets)

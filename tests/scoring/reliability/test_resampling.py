import numpy as np
import pytest

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.reliability import Population, align, align_classes, resample, resampling
from tests.scoring.simulated import draw_matrix, draw_run_by_class


@pytest.mark.parametrize("population", ["tasks", "datasets", "seeds"])
def test_the_replicates_center_on_the_scores_and_repeat_exactly(population: str):
    matrix = draw_matrix(0, [0.5, 0.6, 0.4], runs=3, dataset_sd=0.05, run_sd=0.01)
    drawn = resample(matrix, population, replicates=4_000, seed=1)
    assert drawn.shape == (4_000, 3)
    error = drawn.std(axis=0) / np.sqrt(4_000)
    np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - matrix.scores.mean(axis=0)), 5 * error)
    np.testing.assert_array_equal(drawn, resample(matrix, population, replicates=4_000, seed=1))
    assert not np.array_equal(drawn, resample(matrix, population, replicates=4_000, seed=2))


def test_the_spread_over_tasks_is_the_textbook_one():
    matrix = draw_matrix(0, [0.5], datasets=4, tasks=50, dataset_sd=0.2)
    drawn = resample(matrix, "tasks", replicates=20_000)[:, 0]
    within = [matrix.scores[matrix.dataset == d, 0].var(ddof=1) / 50 for d in range(4)]
    assert drawn.std() == pytest.approx(np.sqrt(np.sum(within)) / 4, rel=0.03)


def test_the_spread_over_datasets_has_both_stages():
    matrix = draw_matrix(0, [0.5], datasets=20, tasks=10, dataset_sd=0.05, task_sd=0.1)
    drawn = resample(matrix, "datasets", replicates=20_000)[:, 0]
    means = matrix.dataset_means()[:, 0]
    within = np.mean([matrix.scores[matrix.dataset == d, 0].var() for d in range(20)]) / 10
    assert drawn.std() == pytest.approx(np.sqrt((means.var() + within) / 20), rel=0.03)


def test_datasets_of_unequal_size_keep_the_weight_of_their_tasks():
    matrix = draw_matrix(0, [0.5], datasets=2, tasks=60, task_sd=0.0)
    shifted = matrix.select((matrix.dataset == 0) | (matrix.task % 3 == 0))
    shifted.scores[shifted.dataset == 1] += 0.2
    values = np.unique(resample(shifted, "datasets", replicates=500).round(9))
    assert values.tolist() == [0.5, pytest.approx(0.55), 0.7]


def test_blocks_do_not_change_the_result_beyond_rounding(monkeypatch: pytest.MonkeyPatch):
    matrix = draw_matrix(0, [0.5, 0.6], runs=2)
    whole = resample(matrix, "tasks", replicates=300)
    monkeypatch.setattr(resampling, "_BLOCK_BYTES", 8 * 30 * 7)
    np.testing.assert_allclose(resample(matrix, "tasks", replicates=300).std(), whole.std(), rtol=0.1)


def test_the_worst_run_lies_below_the_mean():
    matrix = draw_matrix(0, [0.5, 0.6], runs=3, run_sd=0.02)
    worst = resample(matrix, "tasks", replicates=200, rule="worst_run")
    assert (worst <= resample(matrix, "tasks", replicates=200, rule="mean_run") + 1e-12).all()
    assert worst.mean(axis=0) == pytest.approx(matrix.run_means().min(axis=0), abs=0.005)


def test_the_draw_of_classes_adds_their_spread():
    rng = np.random.default_rng(0)
    skills = np.clip(0.7 + 0.15 * rng.standard_normal((4, 12)), 0.05, 0.95)
    run = draw_run_by_class(1, 2, skills, tasks=100)
    matrix = align({"a": [run.score()]})
    classes = align_classes({"a": [run.class_table()]}, matrix)
    by_tasks = resample(matrix, "tasks", replicates=4_000).std()
    by_classes = resample(matrix, "classes", classes=classes, replicates=4_000).std()
    scores = classes.scores()[:, 0]
    between = np.sqrt(np.sum([scores[classes.dataset == d].var(ddof=1) / 12 for d in range(4)])) / 4
    assert by_classes == pytest.approx(np.hypot(by_tasks, between), rel=0.05)


def test_what_cannot_be_drawn_again_is_refused():
    single = draw_matrix(0, [0.5], datasets=1)
    for population, message in (
        ("datasets", "single dataset"),
        ("seeds", "single run"),
        ("classes", "need the predictions by class"),
    ):
        with pytest.raises(ScoringError, match=message):
            resample(single, population)
    with pytest.raises(ScoringError, match="no ranking rule"):
        resample(single, rule="luckiest")
    with pytest.raises(ScoringError, match="At least one"):
        resample(single, replicates=0)
    with pytest.raises(ValueError, match="weather"):
        resample(single, "weather")
    assert {p.value for p in Population} == {"tasks", "classes", "datasets", "seeds"}

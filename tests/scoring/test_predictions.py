import numpy as np

from anyshot_scoring.predictions import Predictions
from tests.scoring.drawn import draw_run


def test_the_table_holds_what_the_run_holds():
    run = draw_run(0, 20)
    table = run.score()
    assert table.task.tolist() == list(range(20))
    assert table.queries.tolist() == (run.ways * 5).tolist()
    np.testing.assert_array_equal(table.fit_seconds, run.fit_seconds)


def test_the_mean_of_a_tasks_normalized_recalls_is_its_normalized_accuracy():
    run = draw_run(1, 60)
    rows = run.class_table()
    means = np.bincount(rows.task, rows.normalized_recall()) / run.ways
    np.testing.assert_allclose(means, run.score().normalized_accuracy, atol=1e-12)
    assert rows.known


def test_classes_that_nobody_named_are_not_known():
    run = Predictions.from_tasks(
        task=[0], dataset=["D"], domain=[""], ways=[2], shots=[1], predictions=[[0, 1]], labels=[[0, 1]]
    )
    assert not run.class_table().known
    assert not draw_run(0, 0).class_table().known

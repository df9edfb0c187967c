from dataclasses import replace

import numpy as np
import pytest

from anyshot_scoring.reliability import NotComparable, align, align_classes
from anyshot_scoring.table import TaskTable
from tests.scoring.drawn import draw_run, draw_table
from tests.scoring.simulated import draw_run_by_class

SKILLS = np.full((3, 8), 0.7)


def test_submissions_stand_side_by_side_run_below_run():
    first, second = draw_table(0, 40), draw_table(1, 40)
    matrix = align({"a": [first, second], "b": [first, second]})
    assert matrix.scores.shape == (80, 2)
    assert matrix.runs == 2
    np.testing.assert_array_equal(matrix.column("a"), matrix.column("b"))
    np.testing.assert_allclose(
        matrix.run_means()[:, 0], [t.normalized_accuracy.mean() for t in (first, second)]
    )
    assert matrix.datasets == ("D0", "D1", "D2", "D3")


def test_the_order_of_rows_in_a_file_does_not_matter():
    table = draw_table(0, 40)
    shuffled = table.select(np.random.default_rng(0).permutation(40))
    matrix = align({"a": [table], "b": [shuffled]})
    np.testing.assert_array_equal(matrix.column("a"), matrix.column("b"))


def test_what_cannot_be_compared_is_refused():
    table = draw_table(0, 40)
    nan = replace(table, normalized_accuracy=np.where(table.task == 3, np.nan, table.normalized_accuracy))
    for other, message in (
        ([table.select(table.task < 39)], "same runs and tasks"),
        ([table, table], "same runs and tasks"),
        ([draw_table(9, 40)], "differ in the column ways"),
        ([nan], "b has tasks without a score"),
        ([], "no run"),
    ):
        with pytest.raises(NotComparable, match=message):
            align({"a": [table], "b": other})
    with pytest.raises(NotComparable, match="no submission"):
        align({})
    with pytest.raises(NotComparable, match="no metric"):
        align({"a": [table]}, "f2")


def test_class_sums_give_the_mean_over_each_datasets_tasks():
    runs = [draw_run_by_class(seed, tasks_seed=5, skills=SKILLS) for seed in (1, 2)]
    matrix = align({"a": [runs[0].score()], "b": [runs[1].score()]})
    classes = align_classes({"a": [runs[0].class_table()], "b": [runs[1].class_table()]}, matrix)
    assert len(classes.class_id) == 24
    for dataset in range(3):
        own = classes.dataset == dataset
        expected = matrix.dataset_means()[dataset]
        np.testing.assert_allclose(
            classes.sums[0, own].sum(axis=0) / classes.shares[0, own].sum(), expected, atol=1e-12
        )


def test_classes_that_do_not_fit_are_refused():
    a, b = (draw_run_by_class(seed, 5, SKILLS) for seed in (1, 2))
    other_tasks = draw_run_by_class(2, 6, SKILLS)
    matrix = align({"a": [a.score()], "b": [b.score()]})
    with pytest.raises(NotComparable, match="for each submission"):
        align_classes({"a": [a.class_table()]}, matrix)
    with pytest.raises(NotComparable, match="other classes or tasks"):
        align_classes({"a": [a.class_table()], "b": [other_tasks.class_table()]}, matrix)
    with pytest.raises(NotComparable, match="as many runs"):
        align_classes({"a": [a.class_table()], "b": [b.class_table()] * 2}, matrix)
    unknown = replace(a.class_table(), class_id=np.full(len(a.class_table()), -1))
    with pytest.raises(NotComparable, match="do not say which classes"):
        align_classes({"a": [unknown], "b": [b.class_table()]}, matrix)
    foreign = draw_run(0, 12).class_table()
    with pytest.raises(NotComparable, match="other datasets"):
        align_classes({"a": [foreign], "b": [foreign]}, matrix)


def test_a_part_of_the_tasks():
    table = draw_table(0, 40)
    matrix = align({"a": [table]})
    assert len(matrix.select(matrix.task < 10).scores) == 10
    assert TaskTable.concatenate([table]).task.tolist() == table.task.tolist()

"""Pooled groups against the same tasks taken together."""

import numpy as np
import pytest

from anyshot_scoring.intervals import t_interval
from anyshot_scoring.pooling import pool_groups
from anyshot_scoring.summary import Group, group_means


def test_a_pooled_group_is_that_of_all_its_tasks_together() -> None:
    rng = np.random.default_rng(1)
    keys = np.array([2, 2, 3, 4, 4, 4, 5, 5, 5, 5, 5, 5, 9])
    values = rng.normal(size=len(keys))
    pooled = pool_groups(group_means(values, keys))
    assert [group.tasks for group in pooled] == [6, 7]
    for group, own in zip(pooled, (keys <= 4, keys >= 5), strict=True):
        mean, half = t_interval(values[own])
        assert group.mean == pytest.approx(mean) and group.half_width == pytest.approx(half)
        assert float(group.key) == pytest.approx(keys[own].mean(), abs=0.05)


def test_groups_that_are_large_enough_stay_as_they_are() -> None:
    groups = (Group(2, 0.5, 0.1, 5), Group(3, 0.4, 0.2, 9))
    assert pool_groups(groups) == groups


def test_one_task_in_all_has_no_interval() -> None:
    assert pool_groups([Group(2, 0.5, None, 1)]) == (Group(2, 0.5, None, 1),)
    assert pool_groups([]) == ()

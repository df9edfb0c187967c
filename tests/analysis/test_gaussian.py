"""Equivalence tests, and MAML and USL on small Gaussian benchmarks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch.func import grad

from anyshot_analysis.comparison.equivalence import Equivalence, EquivalenceVerdict, compare_paired
from anyshot_analysis.diversity.hellinger import GaussianBenchmark
from anyshot_analysis.episodes import draw_episodes
from anyshot_analysis.gaussian.head import train_head
from anyshot_analysis.gaussian.maml import (
    MamlSettings,
    adapt,
    adapted_hits,
    has_converged,
    head_names,
    meta_train,
    outer_loss,
    tasks_of,
    tensors,
)
from anyshot_analysis.gaussian.perceptron import draw_parameters, loss
from anyshot_analysis.gaussian.report import TEST_STEPS, loss_curve
from anyshot_analysis.gaussian.usl import UslSettings, regression_hits, train_union
from anyshot_analysis.gaussian.world import draw_tasks, draw_world, optimal_hits
from anyshot_analysis.heads import problem_of
from anyshot_analysis.heads.problem import BadProblem
from anyshot_analysis.jobs.registry import run
from anyshot_analysis.trust.estimate import oracle
from anyshot_analysis.undefined import Undefined
from anyshot_studies.reproduce.gaussians import (
    FULL,
    SMALL,
    Size,
    conditions_of,
    draw_distances,
    draw_losses,
)
from tests.analysis.worlds import make_features

WIDE = GaussianBenchmark(0, 10, 1, 0.01)


def verdict_of(first: np.ndarray, second: np.ndarray) -> Equivalence:
    found = compare_paired(first, second)
    assert isinstance(found, Equivalence)
    return found


def test_verdicts_follow_the_two_one_sided_tests() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(2000)
    assert (
        verdict_of(base, base + 0.02 + 0.01 * rng.normal(size=2000)).verdict is EquivalenceVerdict.DIFFERENT
    )
    tiny = verdict_of(base, base + 0.002 + 0.01 * rng.normal(size=2000))
    assert tiny.verdict is EquivalenceVerdict.EQUIVALENT
    assert tiny.difference_p < 1e-6
    assert (
        verdict_of(base[:20], base[:20] + 0.1 * rng.normal(size=20)).verdict is EquivalenceVerdict.UNDECIDED
    )
    assert verdict_of(base, base).verdict is EquivalenceVerdict.EQUIVALENT
    assert verdict_of(base, base + 0.5).verdict is EquivalenceVerdict.DIFFERENT
    assert isinstance(compare_paired([0.1], [0.2]), Undefined)
    with pytest.raises(ValueError, match="one length"):
        compare_paired([0.1, 0.2], [0.2])


def test_p_values_equal_scipy() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.random(30), rng.random(30)
    found = verdict_of(one, two)
    assert found.difference_p == pytest.approx(stats.ttest_rel(one, two)[1])
    gaps = one - two
    lower: Any = stats.ttest_1samp(gaps, -0.01, alternative="greater")[1]
    upper: Any = stats.ttest_1samp(gaps, 0.01, alternative="less")[1]
    assert found.equivalence_p == pytest.approx(max(lower, upper))


def test_the_false_alarm_rate_of_equivalence_is_held() -> None:
    rng = np.random.default_rng(2)
    gaps = 0.01 + 0.05 * rng.normal(size=(1500, 60))  # truly at the margin: equivalence is false
    alarms = [verdict_of(g, np.zeros(60)).verdict is EquivalenceVerdict.EQUIVALENT for g in gaps]
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1500)


def test_worlds_have_the_moments_of_their_benchmark_and_tasks_are_disjoint() -> None:
    world = draw_world(WIDE, seed=0, classes=400, points=200)
    assert world.means.std() == pytest.approx(10, rel=0.1)
    own = world.split("test") * world.scale
    np.testing.assert_allclose(own.mean(axis=1), world.means[2], atol=0.4)
    points = np.arange(8 * 60, dtype=np.float32).reshape(8, 60)
    tasks = draw_tasks(points, np.random.default_rng(0), 500, ways=3, shots=4, query=5)
    both = np.concatenate([tasks.support_x, tasks.query_x], axis=1)[..., 0]
    assert all(len(set(row.tolist())) == 27 for row in both)
    truth = np.take_along_axis(tasks.classes, tasks.query_y, axis=1)
    np.testing.assert_array_equal(tasks.query_x[..., 0] // 60, truth)
    assert stats.chisquare(np.bincount(tasks.classes.ravel(), minlength=8)).pvalue > 1e-3


def test_the_meta_gradient_is_second_order() -> None:
    world = draw_world(WIDE, seed=1, classes=10, points=50)
    batch = tensors(draw_tasks(world.split("train"), np.random.default_rng(0), 3, 3, 2, 4))
    batch = tuple(t.double() if t.is_floating_point() else t for t in batch)
    start = {name: p.double() for name, p in draw_parameters((1, 6, 3), 0).items()}
    settings = MamlSettings(inner_steps=2, inner_rate=0.3)
    slopes = grad(lambda p: outer_loss(p, batch, settings))(start)
    first_order = grad(lambda p: outer_loss(p, batch, MamlSettings(2, 0.3, first_order=True)))(start)
    for name in ("weight0", "weight1"):
        moved = {k: v.clone() for k, v in start.items()}
        numbers = []
        for sign in (1, -1):
            moved[name] = start[name] + sign * 1e-5
            numbers.append(outer_loss(moved, batch, settings).item())
        numeric = (numbers[0] - numbers[1]) / 2e-5
        assert slopes[name].sum().item() == pytest.approx(numeric, rel=1e-4, abs=1e-8)
        assert not torch.allclose(slopes[name], first_order[name])


def test_adapting_the_head_only_leaves_the_body() -> None:
    world = draw_world(WIDE, seed=1, classes=10, points=50)
    sx, sy, _, _ = tensors(draw_tasks(world.split("train"), np.random.default_rng(0), 1, 3, 4, 2))
    start = draw_parameters((1, 6, 3), 0)
    moved = adapt(start, sx[0], sy[0], 3, 0.1, only=head_names(start))
    assert torch.equal(moved["weight0"], start["weight0"])
    assert not torch.equal(moved["weight1"], start["weight1"])
    assert loss(moved, sx[0], sy[0]) < loss(start, sx[0], sy[0])


@pytest.mark.seconds("trains and tests small networks")
def test_maml_and_usl_learn_and_stay_below_the_bayes_rule() -> None:
    world = draw_world(WIDE, seed=0, classes=30, points=200)
    tasks = draw_tasks(world.split("test"), np.random.default_rng(5), 100)
    settings = MamlSettings(inner_steps=3, iterations=120, meta_batch=4, rate=5e-3)
    maml = meta_train(tasks_of(world.split("train")), (1, 24, 24, 5), 0, settings)
    union = train_union(world.split("train"), (1, 24, 24), 0, UslSettings(iterations=600))
    best = optimal_hits(world, tasks)
    adapted = adapted_hits(maml.parameters, tasks, 3, 0.1)
    frozen = regression_hits(union.parameters, tasks)
    untrained = adapted_hits(draw_parameters((1, 24, 24, 5), 0), tasks, 0, 0.1)
    assert untrained.mean() < 0.4 < adapted.mean() < best.mean()
    assert 0.6 < frozen.mean() <= best.mean() + 0.02
    assert maml.losses[-20:].mean() < maml.losses[:20].mean()


def test_convergence_is_the_slope_of_the_last_losses() -> None:
    noise = np.random.default_rng(0).normal(size=400) * 0.01
    assert has_converged((1 + noise).tolist(), 100)
    assert not has_converged((2 - np.arange(400) / 400 + noise).tolist(), 100)
    assert not has_converged([1.0] * 150, 100)


def test_maml_as_a_head_adapts_to_the_images_that_count() -> None:
    features = make_features(classes=20, images=30, noise=0.8)
    head = train_head(features, ways=3, shots=4, iterations=60)
    problem = problem_of(features.values, draw_episodes(features, 3, 4, 10, 20, seed=4))
    truth = np.repeat(np.arange(3), 10)
    assert oracle(head, problem, truth).mean() > oracle(replace(head, steps=0), problem, truth).mean() + 0.3
    weights = np.ones((20, 2, 12))
    weights[:, 1, 5] = 0
    both = head.fit(problem, weights)
    x = torch.from_numpy(problem.support[7].astype(np.float32))
    y = torch.from_numpy(np.array(problem.labels[7]))
    kept = torch.arange(12) != 5
    alone = adapt(head.parameters, x[kept], y[kept], head.steps, head.rate)
    for name, value in alone.items():
        torch.testing.assert_close(both.parameters[name][7, 1], value, atol=1e-4, rtol=1e-4)
    assert both.predict(problem.queries).shape == (20, 2, 30)
    with pytest.raises(BadProblem, match="answers 3-way tasks"):
        head.fit(
            problem_of(features.values, draw_episodes(features, 4, 4, 1, 1, seed=0)), np.ones((1, 1, 16))
        )


@pytest.mark.seconds("trains and tests small networks")
def test_the_meta_batch_is_a_setting_and_steps_are_said(tmp_path: Path) -> None:
    small: dict[str, Any] = {"width": 4, "iterations": 4, "union_iterations": 7, "tasks": 6}
    found = [run("gaussian", {}, small | {"meta_batch": size}, tmp_path / str(size)) for size in (2, 9)]
    assert "Steps taken: MAML 4 of 4 meta-batches of 9 tasks, USL 7 of 7 batches." in found[1]["notes"]
    assert "The training loss of MAML and USL still fell when training ended." in found[1]["finding"]
    usl = [one["result"]["accuracy"]["USL"] for one in found]
    assert usl[0] == usl[1], "the union learner knows no meta-batch"
    pages = [(tmp_path / str(size) / "table.parquet").read_bytes() for size in (2, 9)]
    assert pages[0] != pages[1], "MAML learned from other batches"


@pytest.mark.seconds("trains and tests small networks")
def test_maml_is_tested_with_five_and_with_ten_steps(tmp_path: Path) -> None:
    """From one start: ten steps are five and five more, and the losses end where training did."""
    small: dict[str, Any] = {"width": 4, "iterations": 90, "union_iterations": 7, "tasks": 6}
    found = run("gaussian", {}, small, tmp_path)
    assert list(found["result"]["accuracy"]) == ["MAML", "MAML, 10 steps", "USL", "Bayes rule"]
    assert "MAML, 10 steps, minus USL" in {one["name"] for one in found["estimates"]}
    losses = found["result"]["losses"]
    assert [len(losses[name]) for name in ("MAML", "USL")] == [40, 7] and losses["MAML"][-1][0] == 90
    points, start = draw_world(WIDE, 0).split("test"), draw_parameters((1, 64, 5), 0)
    task, tasks = (draw_tasks(points, np.random.default_rng(0), count) for count in (1, 20))
    x, y = (part[0] for part in tensors(task)[:2])
    once = adapt(start, x, y, TEST_STEPS["MAML"], 0.1)
    ten = adapted_hits(start, task, TEST_STEPS["MAML, 10 steps"], 0.1)
    assert ten == adapted_hits(once, task, 5, 0.1)
    five, ten = (adapted_hits(start, tasks, steps, 0.1) for steps in TEST_STEPS.values())
    assert ten.mean() > five.mean()


def test_a_loss_curve_is_the_mean_of_its_parts() -> None:
    curve = loss_curve(np.arange(80.0))
    assert [(one.key, one.mean) for one in curve[:2]] == [(2, 0.5), (4, 2.5)] and len(curve) == 40


@pytest.mark.seconds("trains and tests small networks")
def test_the_study_draws_losses_and_distances_of_each_benchmark() -> None:
    """Curves of all seven by learner; fifteen tasks each with each on one scale, and all pairs as a histogram."""
    reports = [{"losses": {"MAML": [[1, 2.0], [2, 1.0]], "USL": [[5, 3.0]]}}] * 7
    titles = [chart.title for chart in draw_losses(reports)]
    assert titles == ["Training loss of MAML by benchmark", "Training loss of USL by benchmark"]
    words = draw_losses(reports)[0].description
    assert words.count("sigma_m") == 7 and "sigma_m 1000: step 1: 2.000" in words
    square = np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0))) / 20
    charts = draw_distances([square] * 7)
    assert [chart.title for chart in charts][:2] == [
        "Distances of tasks by benchmark",
        "Distances of tasks, sigma_m 0.01",
    ]
    assert len(charts) == 8 and "15" in charts[1].description and "16" not in charts[1].description


def test_a_study_of_the_gaussians_says_which_conditions_of_the_paper_it_meets() -> None:
    done = {"steps": {"MAML": 900, "USL": 1951}, "converged": {"MAML": True, "USL": True}}
    late = {"steps": {"MAML": 100, "USL": 1951}, "converged": {"MAML": False, "USL": True}}
    small, full = conditions_of(SMALL, [late] * 7), conditions_of(FULL, [done] * 7)
    unmet = {name: one["found"] for name, one in small.items() if not one["met"]}
    assert (
        unmet["500 tasks embedded"] == "60" and unmet["MAML converged, sigma_m 10"] == "not after 100 steps"
    )
    assert small["meta-batches of 100 tasks"]["met"] and small["USL converged, sigma_m 10"]["met"]
    assert [name for name, one in full.items() if not one["met"]] == ["the paper's random probe"]
    assert conditions_of(Size(100, 8, 60), [late] * 7)["meta-batches of 100 tasks"] == {
        "met": False,
        "found": "8",
    }

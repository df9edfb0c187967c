"""Hellinger, distances of embeddings, the diversity coefficient and the disjointness theory."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.spatial.distance import cosine

from anyshot_analysis.diversity.coefficient import (
    BadDistances,
    Pairing,
    diversity,
    diversity_pairs_as_independent,
    group_distances,
    nearest_pair,
    noise_floor,
)
from anyshot_analysis.diversity.distance import BadEmbedding, cosine_distances, task2vec_distances
from anyshot_analysis.diversity.hellinger import (
    PUBLISHED_HELLINGER,
    BadBenchmark,
    GaussianBenchmark,
    hellinger_diversity,
    published_benchmarks,
    squared_hellinger,
)
from anyshot_analysis.shift import disjointness
from anyshot_analysis.undefined import Undefined, require


@pytest.mark.parametrize(
    ("m1", "s1", "m2", "s2"), [(0, 1, 0, 1), (0, 1, 3, 0.5), (-2, 0.1, 2, 4), (1, 1, 1 + 1e-6, 1)]
)
def test_hellinger_of_two_normals_equals_the_integral(m1: float, s1: float, m2: float, s2: float) -> None:
    def root(t: float) -> float:
        p = np.exp(-0.5 * ((t - m1) / s1) ** 2) / s1
        q = np.exp(-0.5 * ((t - m2) / s2) ** 2) / s2
        return float((np.sqrt(p) - np.sqrt(q)) ** 2 / np.sqrt(2 * np.pi) / 2)

    area = integrate.quad(root, -40, 40, points=[m1, m2], epsabs=1e-13, limit=400)[0]
    assert squared_hellinger(m1, s1, m2, s2) == pytest.approx(area, abs=1e-9)


@pytest.mark.seconds("many draws")
def test_the_published_hellinger_column() -> None:
    for benchmark, published in zip(published_benchmarks(), PUBLISHED_HELLINGER, strict=True):
        assert hellinger_diversity(benchmark) == pytest.approx(published, rel=0.005)


@pytest.mark.seconds("nested quadrature")
@pytest.mark.parametrize(
    "benchmark",
    [GaussianBenchmark(0, 2, 1, 0.01), GaussianBenchmark(5, 1, 0.5, 1), GaussianBenchmark(0, 0.5, 0, 2)],
)
def test_the_diversity_of_a_benchmark_equals_sampling_and_nested_quadrature(
    benchmark: GaussianBenchmark,
) -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(benchmark.mu_m, benchmark.sigma_m, (2, 400_000))
    deviations = np.abs(rng.normal(benchmark.mu_s, benchmark.sigma_s, (2, 400_000)))
    sample = squared_hellinger(means[0], deviations[0], means[1], deviations[1])
    exact = hellinger_diversity(benchmark)
    assert exact == pytest.approx(sample.mean(), abs=4 * sample.std() / np.sqrt(400_000))
    assert exact == pytest.approx(hellinger_diversity(benchmark, nodes=900), abs=1e-8)


def test_a_benchmark_without_spread_has_no_diversity_and_bad_ones_are_refused() -> None:
    assert hellinger_diversity(GaussianBenchmark(3, 0, 1, 0)) == 0
    for parameters in ((0, -1, 1, 0), (0, 1, 0, 0), (np.nan, 1, 1, 0)):
        with pytest.raises(BadBenchmark):
            GaussianBenchmark(*parameters)


@settings(max_examples=20)
@given(st.integers(2, 9), st.integers(2, 40), st.integers(0, 1000), st.booleans())
@example(3, 3, 215, True)  # one task outweighs another by far in every filter they share
def test_distances_equal_the_definition_pair_by_pair(
    tasks: int, filters: int, seed: int, with_zeros: bool
) -> None:
    rng = np.random.default_rng(seed)
    f = rng.gamma(0.3, size=(tasks, filters)) + 1e-9
    if with_zeros:
        f[:, 1:] *= rng.random((tasks, filters - 1)) > 0.4
    scaled, plain = task2vec_distances(f), cosine_distances(f)
    for i in range(tasks):
        for j in range(i):
            active = f[i] + f[j] > 0
            a, b = f[i, active], f[j, active]
            assert scaled[i, j] == pytest.approx(cosine(a / (a + b), b / (a + b)), abs=1e-8)
            assert plain[i, j] == pytest.approx(cosine(f[i], f[j]), abs=1e-8)
    np.testing.assert_array_equal(scaled, scaled.T)
    assert not np.diag(scaled).any()


def test_tasks_without_a_common_filter_are_at_distance_one() -> None:
    assert task2vec_distances([[1.0, 0.0], [0.0, 2.0]])[0, 1] == 1
    for bad in ([[1.0, -1.0]], [[0.0, 0.0], [1.0, 1.0]], [[np.nan, 1.0]], [1.0]):
        with pytest.raises(BadEmbedding):
            task2vec_distances(bad)


def points_distances(rng: np.random.Generator, tasks: int) -> np.ndarray:
    """Distances of points on a line: the mean over pairs of the population is 2/sqrt(pi)."""
    points = rng.normal(size=tasks)
    return np.abs(points[:, None] - points[None, :])


def test_the_jackknife_covers_the_true_diversity_and_pairs_as_independent_do_not() -> None:
    rng, truth = np.random.default_rng(5), 2 / np.sqrt(np.pi)
    covered = {"jackknife": 0, "pairs": 0}
    for _ in range(400):
        distances = points_distances(rng, 60)
        own, papers = diversity(distances), diversity_pairs_as_independent(distances)
        assert own.mean == pytest.approx(papers.mean, abs=1e-12)
        covered["jackknife"] += abs(own.mean - truth) <= require(own.half_width, "half width")
        covered["pairs"] += abs(papers.mean - truth) <= require(papers.half_width, "half width")
    assert 0.91 <= covered["jackknife"] / 400 <= 0.985
    assert covered["pairs"] / 400 < 0.5


def test_the_jackknife_equals_leaving_tasks_out_one_by_one() -> None:
    distances = points_distances(np.random.default_rng(1), 12)
    without = []
    for i in range(12):
        kept = np.delete(np.delete(distances, i, 0), i, 1)
        without.append(kept.sum() / (11 * 10))
    error = np.sqrt(11 / 12 * np.sum((np.array(without) - np.mean(without)) ** 2))
    assert diversity(distances).half_width == pytest.approx(2.200985160082949 * error, abs=1e-10)


def test_floor_nearest_pair_and_groups() -> None:
    distances = np.array([[0, 1, 4, 6], [1, 0, 3, 5], [4, 3, 0, 2], [6, 5, 2, 0]], dtype=float)
    assert nearest_pair(distances) == Pairing(0, 1, 1.0)
    assert nearest_pair(distances, ["a", "a", "b", "b"]) == Pairing(1, 2, 3.0)
    assert isinstance(nearest_pair(distances, ["a"] * 4), Undefined)
    names, means = group_distances(distances, ["a", "a", "b", "b"])
    assert names == ["a", "b"]
    np.testing.assert_allclose(means, [[1, 4.5], [4.5, 2]])
    assert np.isnan(group_distances(distances, ["a", "b", "b", "b"])[1][0, 0])
    assert noise_floor([0.1, 0.2, 0.3]).mean == pytest.approx(0.2)
    assert isinstance(noise_floor([0.1]).half_width, Undefined)
    assert isinstance(diversity(distances[:3, :3]).half_width, Undefined)
    with pytest.raises(BadDistances):
        diversity(np.array([[0, 1], [2, 0]]))


def test_the_disjointness_numbers_of_the_paper() -> None:
    assert disjointness.ordered_tasks(64, 5) == 914_941_440
    assert disjointness.unordered_tasks(64, 5) == 7_624_512
    assert disjointness.enough_tasks(1000, 5, 0.5, 0.01) / 1000 == pytest.approx(2.3966, abs=5e-5)


def simulated_classes(rng: np.random.Generator, classes: int, ways: int, tasks: int) -> int:
    return len({c for _ in range(tasks) for c in rng.choice(classes, ways, replace=False).tolist()})


def test_expected_classes_and_its_bounds_hold_in_simulation() -> None:
    rng = np.random.default_rng(0)
    seen = np.array([simulated_classes(rng, 30, 4, 8) for _ in range(800)])
    exact = disjointness.expected_classes(np.full(30, 4 / 30), 8)
    assert seen.mean() == pytest.approx(exact, abs=4 * seen.std() / np.sqrt(800))
    assert disjointness.expected_classes_bound(30, 4, 1.0, 8) == pytest.approx(exact, abs=1e-9)
    assert disjointness.expected_classes_bound(30, 4, 0.5, 8) < exact
    assert seen.var() <= disjointness.classes_variance_bound(4, 8)
    wide = np.array([simulated_classes(rng, 200, 4, 8) for _ in range(800)])
    assert wide.mean() >= require(disjointness.many_classes_expectation(200, 4, 1.0, 8), "E[Z]")
    tail = require(disjointness.many_classes_tail(200, 4, 1.0, 8, 0.2), "tail")
    assert (wide <= 0.2 * 4 * 8 / 2).mean() <= tail


def test_enough_tasks_make_disjoint_sets_improbable() -> None:
    tasks = int(np.ceil(disjointness.enough_tasks(64, 5, 0.5, 0.01)))
    assert disjointness.disjoint_probability_bound(64, 5, 0.5, tasks, tasks) <= 0.01
    assert disjointness.disjoint_probability_bound(64, 5, 0.5, 1, 1) == 1
    assert disjointness.spread(np.full(64, 5 / 64)) == pytest.approx(1)
    assert isinstance(disjointness.many_classes_expectation(20, 5, 1, 8), Undefined)
    for bad in ((4, 5, 0.5), (5, 4, 0.0), (5, 4, 1.5)):
        with pytest.raises(disjointness.BadTaskDistribution):
            disjointness.enough_tasks(*bad, 0.01)
    with pytest.raises(disjointness.BadTaskDistribution):
        disjointness.expected_classes([0.5, 1.5], 3)

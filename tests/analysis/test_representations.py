"""Similarities of representations: independent float64 computations, invariances, chance levels, refusals."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh, orth

from anyshot_analysis.representations import (
    canonical_correlations,
    chance_cca,
    chance_cka,
    compare,
    convolution_rows,
    flatten_maps,
    linear_cka,
    permutation_level,
    pool_maps,
    procrustes_distance,
    pwcca,
    svcca,
    unbiased_cka,
)
from anyshot_analysis.representations.cca import CanonicalCorrelations, Kept, ProjectionWeighted
from anyshot_analysis.representations.chance import PermutationLevel, permutation_levels
from anyshot_analysis.representations.jackknife import jackknife
from anyshot_analysis.representations.layers import BadMaps
from anyshot_analysis.representations.rows import BadRepresentation, centred
from anyshot_analysis.undefined import Undefined, UndefinedQuantity, as_json, require

SIZES = st.tuples(st.integers(40, 90), st.integers(1, 7), st.integers(1, 7), st.integers(0, 10_000))


def draw(sizes: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Two representations that share a signal, with columns of very different scales and means."""
    n, dx, dy, seed = sizes
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, 3))
    x = signal @ rng.normal(size=(3, dx)) + 0.7 * rng.normal(size=(n, dx)) * rng.uniform(0.1, 5, dx)
    y = signal @ rng.normal(size=(3, dy)) + 0.7 * rng.normal(size=(n, dy)) + 30 * rng.normal(size=dy)
    return x, y


def rotation(size: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


def gram_cka(x: np.ndarray, y: np.ndarray) -> float:
    """From N x N kernels centred on both sides, straight from the definition of HSIC."""
    n = len(x)
    h = np.eye(n) - 1 / n
    k, m = h @ (x @ x.T) @ h, h @ (y @ y.T) @ h
    return float(np.sum(k * m) / np.sqrt(np.sum(k * k) * np.sum(m * m)))


def gram_hsic_1(x: np.ndarray, y: np.ndarray) -> float:
    n, one = len(x), np.ones(len(x))
    k, m = x @ x.T, y @ y.T
    np.fill_diagonal(k, 0)
    np.fill_diagonal(m, 0)
    parts = (
        np.trace(k @ m)
        + (one @ k @ one) * (one @ m @ one) / ((n - 1) * (n - 2))
        - 2 / (n - 2) * one @ k @ m @ one
    )
    return float(parts / (n * (n - 3)))


def eigen_cca(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correlations as roots of the generalised eigenvalue problem of the covariances."""
    x, y = x - x.mean(0), y - y.mean(0)
    a = x.T @ y @ np.linalg.solve(y.T @ y, y.T @ x)
    return np.sqrt(np.clip(eigh(a, x.T @ x, eigvals_only=True)[::-1][: min(x.shape[1], y.shape[1])], 0, 1))


@settings(max_examples=25)
@given(SIZES)
@example((51, 1, 2, 51))
def test_every_quantity_equals_an_independent_computation(sizes: tuple[int, int, int, int]) -> None:
    x, y = draw(sizes)
    cx, cy = x - x.mean(0), y - y.mean(0)
    assert linear_cka(x, y) == pytest.approx(gram_cka(x, y), abs=1e-8)
    # The estimator ignores means, but its N x N sums lose eight digits to those of `y`.
    expected = gram_hsic_1(cx, cy) / np.sqrt(gram_hsic_1(cx, cx) * gram_hsic_1(cy, cy))
    assert unbiased_cka(x, y) == pytest.approx(expected, abs=1e-8)
    cross = cx.T @ cy / np.linalg.norm(cx) / np.linalg.norm(cy)
    nuclear = np.sqrt(np.clip(np.linalg.eigvalsh(cross.T @ cross), 0, None)).sum()
    assert procrustes_distance(x, y) == pytest.approx(1 - nuclear, abs=1e-7)
    cca = canonical_correlations(x, y)
    assert isinstance(cca, CanonicalCorrelations)
    np.testing.assert_allclose(cca.correlations, eigen_cca(x, y), atol=1e-8)


@settings(max_examples=20)
@given(SIZES)
def test_svcca_and_pwcca_equal_their_definitions(sizes: tuple[int, int, int, int]) -> None:
    x, y = draw(sizes)
    cx, cy = x - x.mean(0), y - y.mean(0)
    kinds: tuple[tuple[Kept, int], ...] = (("sum", 1), ("variance", 2))
    for kept, power in kinds:
        parts = []
        for side in (cx, cy):
            u, s, _ = np.linalg.svd(side, full_matrices=False)
            k = next(k for k in range(1, len(s) + 1) if (s[:k] ** power).sum() >= 0.99 * (s**power).sum())
            parts.append(u[:, :k] * s[:k])
        found = svcca(x, y, kept=kept)
        assert isinstance(found, CanonicalCorrelations)
        assert found.mean == pytest.approx(eigen_cca(*parts).mean(), abs=1e-8)
    weighted = pwcca(x, y)
    assert isinstance(weighted, ProjectionWeighted)
    low, high = (cx, cy) if weighted.side == "x" else (cy, cx)
    assert low.shape[1] <= high.shape[1]
    ql, qh = orth(low), orth(high)
    turn, rho, _ = np.linalg.svd(ql.T @ qh, full_matrices=False)
    alpha = np.abs((ql @ turn).T @ low).sum(axis=1)
    assert weighted.similarity == pytest.approx((alpha * rho).sum() / alpha.sum(), abs=1e-8)


@settings(max_examples=20)
@given(SIZES)
def test_cka_and_procrustes_ignore_rotation_scale_and_shift(sizes: tuple[int, int, int, int]) -> None:
    x, y = draw(sizes)
    turned = 3.7 * y @ rotation(y.shape[1], sizes[3]) + 5
    assert linear_cka(x, turned) == pytest.approx(linear_cka(x, y), abs=1e-8)
    assert unbiased_cka(x, turned) == pytest.approx(unbiased_cka(x, y), abs=1e-8)
    assert procrustes_distance(x, turned) == pytest.approx(procrustes_distance(x, y), abs=1e-8)
    assert linear_cka(y, turned) == pytest.approx(1, abs=1e-10)
    assert procrustes_distance(y, turned) == pytest.approx(0, abs=1e-10)


@settings(max_examples=20)
@given(SIZES)
def test_cca_ignores_invertible_linear_maps_and_cka_does_not(sizes: tuple[int, int, int, int]) -> None:
    x, y = draw(sizes)
    rng = np.random.default_rng(sizes[3])
    size = y.shape[1]
    mapped = y @ (rotation(size, 1) * np.geomspace(1, 30, size)) @ rotation(size, 2) + rng.normal(size=size)
    before, after = canonical_correlations(x, y), canonical_correlations(x, mapped)
    assert isinstance(before, CanonicalCorrelations)
    assert isinstance(after, CanonicalCorrelations)
    np.testing.assert_allclose(after.correlations, before.correlations, atol=1e-8)
    if size > 2:
        assert abs(require(linear_cka(y, mapped), "CKA") - 1) > 1e-4


def test_rank_cut_removes_copied_neurons_and_rounding_noise() -> None:
    x, y = draw((80, 5, 6, 1))
    copied = np.hstack([x, x[:, :2] * 2 - 1, np.full((80, 1), 1e6 / 3)])
    found = canonical_correlations(copied, y)
    assert isinstance(found, CanonicalCorrelations)
    assert found.rank_x == 5
    np.testing.assert_allclose(found.correlations, eigen_cca(x, y), atol=1e-8)


def test_pwcca_weights_come_from_the_side_of_lower_rank() -> None:
    x, y = draw((80, 3, 6, 1))
    first, second = pwcca(x, y), pwcca(y, x)
    assert isinstance(first, ProjectionWeighted)
    assert isinstance(second, ProjectionWeighted)
    assert (first.side, second.side) == ("x", "y")
    assert first.similarity == pytest.approx(second.similarity, abs=1e-12)
    assert first.weights.sum() == pytest.approx(1)


def test_independent_data_lie_at_the_chance_level() -> None:
    rng = np.random.default_rng(3)
    squared, biased, unbiased, expected = [], [], [], 0.0
    for _ in range(150):
        x, y = rng.normal(size=(60, 6)), rng.normal(size=(60, 4))
        cca = canonical_correlations(x, y)
        assert isinstance(cca, CanonicalCorrelations)
        squared.append(cca.mean_squared)
        expected = require(chance_cca(centred(x), centred(y)), "chance")
        biased.append(
            require(linear_cka(x, y), "CKA") - require(chance_cka(centred(x), centred(y)), "chance")
        )
        unbiased.append(require(unbiased_cka(x, y), "CKA"))
    for values, target in ((squared, expected), (biased, 0.0), (unbiased, 0.0)):
        assert np.mean(values) == pytest.approx(target, abs=4 * np.std(values) / np.sqrt(150))


def test_where_there_is_no_chance_level_the_reason_is_said() -> None:
    """One image cannot be paired anew; what never varies has no similarity to compare with."""
    rows = np.random.default_rng(1).normal(size=(6, 3))
    flat = np.zeros((6, 3))
    one = [chance_cka(rows, rows, positions=6), permutation_level(linear_cka, rows, rows, positions=6)]
    constant = [
        chance_cka(flat, rows),
        chance_cca(centred(flat), rows),
        *permutation_levels(flat, rows).values(),
    ]
    undefined = permutation_level(lambda x, y: Undefined("no reason"), rows, rows, permutations=3)
    for found in [*one, *constant, undefined]:
        assert isinstance(found, Undefined)
    assert len({str(found) for found in one}) == len({str(found) for found in constant}) == 1
    with pytest.raises(BadRepresentation, match="6 and 5 rows are not the same images with 1 positions"):
        chance_cka(rows, rows[:5])


def test_the_closed_chance_level_of_cka_is_the_mean_over_all_pairings() -> None:
    x, y = draw((40, 4, 3, 9))
    level = permutation_level(linear_cka, x, y, permutations=2000, seed=1)
    assert isinstance(level, PermutationLevel)
    assert level.mean == pytest.approx(require(chance_cka(centred(x), centred(y)), "chance"), rel=0.05)
    assert level.low < level.mean < level.high


def draw_maps(seed: int, images: int = 5, channels: int = 3, size: int = 4) -> np.ndarray:
    """Maps whose positions depend on each other, as those of an image do."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(images, channels, 1, 1)) + 0.3 * rng.normal(size=(images, channels, size, size))


@pytest.mark.parametrize("quantity", ["cka", "cca"])
def test_the_chance_level_of_maps_is_the_mean_over_all_pairings_of_whole_images(quantity: str) -> None:
    one, two = (convolution_rows(draw_maps(seed), rows_a_column=None) for seed in (1, 2))
    x, y, positions = centred(one.values), centred(two.values), one.positions
    found = []
    for order in itertools.permutations(range(one.images)):
        rows = (np.array(order)[:, None] * positions + np.arange(positions)).ravel()
        compared = compare(x, y[rows])
        found.append(require(compared.cka if quantity == "cka" else compared.cca_squared, quantity))
    whole = compare(x, y, positions)
    stated = whole.cka_chance if quantity == "cka" else whole.cca_squared_chance
    assert stated == pytest.approx(np.mean(found), rel=1e-12)
    as_examples = compare(x, y)
    naive = as_examples.cka_chance if quantity == "cka" else as_examples.cca_squared_chance
    assert require(naive, "chance") < 0.3 * np.mean(found)


def test_the_chance_level_of_cca_is_exact_where_some_correlations_are_one_for_any_data() -> None:
    x, y = (centred(side) for side in draw((5, 3, 2, 6)))
    orders = itertools.permutations(range(5))
    found = [require(compare(x, y[list(order)]).cca_squared, "squared CCA") for order in orders]
    assert chance_cca(x, y) == pytest.approx(np.mean(found), rel=1e-12)
    assert chance_cca(x, y) == pytest.approx(3 * 2 / 4 / 2, rel=1e-12)


def test_independent_networks_lie_at_the_chance_levels_that_have_no_formula() -> None:
    one, two = (convolution_rows(draw_maps(seed, images=40), rows_a_column=60) for seed in (3, 4))
    whole = compare(one.values, two.values, one.positions, permutations=200)
    for name in ("procrustes", "cca", "svcca", "pwcca"):
        level = whole.chance[name]
        assert isinstance(level, PermutationLevel)
        slow = permutation_level(
            lambda a, b, n=name: getattr(compare(a, b), n), one.values, two.values, 200, 0, one.positions
        )
        assert isinstance(slow, PermutationLevel)
        assert (level.low, level.mean, level.high) == pytest.approx(
            (slow.low, slow.mean, slow.high), rel=1e-9
        )
        room = level.high - level.low
        assert level.low - room < require(getattr(whole, name), name) < level.high + room
    assert "13.3 images a neuron" not in str(whole.warnings) and whole.images == 40


def test_positions_of_one_image_do_not_replace_images() -> None:
    rows = convolution_rows(draw_maps(0, images=9), rows_a_column=None)
    assert "only 3.0 images a neuron" in compare(rows.values, rows.values, rows.positions).warnings[0]
    with pytest.raises(BadRepresentation, match="not the same images"):
        compare(rows.values[:-1], rows.values[:-1], rows.positions)


def test_what_cca_is_not_defined_for_is_refused_with_a_reason() -> None:
    rng = np.random.default_rng(0)
    few = compare(rng.normal(size=(10, 12)), rng.normal(size=(10, 3)))
    for name in ("cca", "cca_squared", "svcca", "svcca_variance", "pwcca"):
        assert isinstance(getattr(few, name), Undefined)
    assert "10 examples for 12 neurons" in few.to_dict()["cca"]["undefined"]
    assert few.warnings == ()
    constant = compare(np.ones((30, 2)), rng.normal(size=(30, 3)))
    assert isinstance(constant.cka, Undefined)
    assert isinstance(constant.pwcca, Undefined)
    assert isinstance(constant.procrustes, Undefined)
    assert isinstance(unbiased_cka(rng.normal(size=(3, 2)), rng.normal(size=(3, 2))), Undefined)
    with pytest.raises(UndefinedQuantity, match="same for every example"):
        require(constant.cka, "CKA")


def test_few_examples_a_neuron_bring_a_warning() -> None:
    rng = np.random.default_rng(0)
    assert "5.0 images a neuron" in compare(rng.normal(size=(50, 10)), rng.normal(size=(50, 3))).warnings[0]
    assert compare(rng.normal(size=(100, 10)), rng.normal(size=(100, 3))).warnings == ()


def test_a_comparison_agrees_with_the_single_functions() -> None:
    x, y = draw((70, 5, 4, 4))
    whole = compare(x, y)
    assert whole.cka == linear_cka(x, y)
    assert whole.cka_unbiased == unbiased_cka(x, y)
    assert whole.procrustes == procrustes_distance(x, y)
    weighted = pwcca(x, y)
    assert isinstance(weighted, ProjectionWeighted)
    assert whole.pwcca == weighted.similarity
    assert whole.distances()["cka"] == pytest.approx(1 - require(whole.cka, "CKA"))
    assert as_json(whole.cka) == whole.to_dict()["cka"]


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.zeros((3, 2)), np.zeros((4, 2)), "3 examples on one side, 4"),
        (np.full((3, 2), np.nan), np.zeros((3, 2)), "NaN"),
        (np.zeros((3, 2, 2)), np.zeros((3, 2)), "shape"),
    ],
)
def test_bad_matrices_are_refused(x: np.ndarray, y: np.ndarray, words: str) -> None:
    for quantity in (linear_cka, compare, unbiased_cka):
        with pytest.raises(BadRepresentation, match=words):
            quantity(x, y)


def test_convolutional_maps_become_rows() -> None:
    maps = np.arange(4 * 3 * 5 * 6, dtype=np.float64).reshape(4, 3, 5, 6)
    every = convolution_rows(maps, rows_a_column=None)
    assert every.values.shape == (120, 3) and every.positions == 30
    np.testing.assert_array_equal(every.values[(2 * 5 + 4) * 6 + 1], maps[2, :, 4, 1])
    some = convolution_rows(maps, seed=1)
    assert some.values.shape == (60, 3) and (some.positions, some.images) == (15, 4)
    assert {tuple(row) for row in some.values} <= {tuple(row) for row in every.values}
    np.testing.assert_array_equal(some.values, convolution_rows(maps, seed=1).values)
    np.testing.assert_array_equal(some.values[15:30] - some.values[:15], 90.0)  # the same positions of each
    np.testing.assert_allclose(pool_maps(maps)[1, 2], maps[1, 2].mean())
    assert flatten_maps(maps).shape == (4, 90)
    with pytest.raises(BadMaps):
        pool_maps(np.zeros((4, 3)))


def test_intervals_over_images_hold_the_value_of_many_images() -> None:
    """CKA and Procrustes of 120 images, 60 times: 95 % intervals hold what 20,000 images say, up to chance."""
    rng, mixing = np.random.default_rng(0), np.random.default_rng(1).normal(size=(4, 5))

    def layers(images: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.normal(size=(images, 4))
        return x, x @ mixing + rng.normal(size=(images, 5))

    many = layers(20_000)
    truth = {"CKA": linear_cka(*many), "Procrustes": procrustes_distance(*many)}
    held = dict.fromkeys(truth, 0)
    for _ in range(60):
        for name, found in jackknife(*layers(120)).items():
            assert not isinstance(found, Undefined) and not isinstance(found.half_width, Undefined)
            held[name] += abs(found.value - require(truth[name], name)) <= found.half_width
    assert all(count >= 50 for count in held.values()), held


def test_intervals_delete_whole_images() -> None:
    """Twenty positions of one image are one image: its interval is that of images, far from that of rows."""
    rng = np.random.default_rng(0)
    x, y = (np.repeat(rng.normal(size=(40, 3)), 20, axis=0) for _ in range(2))
    images, rows = jackknife(x, y, 20)["CKA"], jackknife(x, y, 1)["CKA"]
    assert not isinstance(images, Undefined) and not isinstance(rows, Undefined)
    assert require(images.half_width, "a") > 3 * require(rows.half_width, "b")
    assert isinstance(jackknife(x[:40], y[:40], 20)["CKA"].half_width, Undefined)  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]

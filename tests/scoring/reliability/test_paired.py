import numpy as np
import pytest
from scipy import stats

from anyshot_scoring.reliability import Interval, Population, align, align_classes, compare, judge
from anyshot_scoring.reliability.differences import judge_differences, weigh_differences
from anyshot_scoring.reliability.paired import expansion, percentile_interval
from anyshot_scoring.undefined import Undefined
from tests.scoring.simulated import draw_matrix, draw_run_by_class


def test_the_difference_is_paired():
    matrix = draw_matrix(0, [0.5, 0.5], dataset_sd=0.2)
    matrix.scores[:, 1] = matrix.scores[:, 0] - 0.01
    result = compare(matrix, "s0", "s1", replicates=500)
    assert result.mean == pytest.approx(0.01)
    assert isinstance(result.plain, Interval)
    assert result.plain.high - result.plain.low < 1e-9


def test_swapping_the_two_turns_the_sign():
    matrix = draw_matrix(1, [0.5, 0.52], dataset_sd=0.05)
    there, back = (compare(matrix, a, b, replicates=500) for a, b in (("s0", "s1"), ("s1", "s0")))
    assert there.mean == -back.mean
    for one, other in ((there.plain, back.plain), (there.by_dataset, back.by_dataset)):
        assert isinstance(one, Interval)
        assert isinstance(other, Interval)
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


@pytest.mark.seconds("simulates many boards")
@pytest.mark.parametrize(
    ("dataset_sd", "covered"),
    [
        (0.0, {"plain": (0.91, 0.985), Population.TASKS: (0.91, 0.985)}),
        (0.06, {"by_dataset": (0.91, 0.985), Population.DATASETS: (0.92, 0.995), "plain": (0.0, 0.75)}),
    ],
)
def test_intervals_cover_the_true_difference_as_often_as_they_say(
    dataset_sd: float, covered: dict[str | Population, tuple[float, float]]
):
    """With datasets that differ, the plain interval shows what ignoring the clusters does."""
    hits = dict.fromkeys(covered, 0)
    for seed in range(300):
        matrix = draw_matrix(seed, [0.50, 0.53], tasks=30, dataset_sd=dataset_sd, task_sd=0.15)
        result = compare(matrix, "s1", "s0", replicates=400, seed=seed + 10_000)
        for kind in covered:
            interval = result.bootstrap[kind] if isinstance(kind, Population) else getattr(result, kind)
            assert not isinstance(interval, Undefined)
            hits[kind] += interval.holds(0.03)
    for kind, (low, high) in covered.items():
        assert low <= hits[kind] / 300 <= high, (kind, hits[kind] / 300)


@pytest.mark.seconds("simulates many boards")
def test_intervals_over_classes_cover_the_mean_over_all_classes_of_a_large_population():
    hits = plain = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        gap = 0.05 + 0.12 * rng.standard_normal((3, 12))  # the classes drawn; their population mean is 0.05
        base = np.full((3, 12), 0.6)
        runs = [draw_run_by_class(2 * seed + i, seed, s, tasks=60) for i, s in enumerate((base + gap, base))]
        matrix = align({"a": [runs[0].score()], "b": [runs[1].score()]})
        classes = align_classes({"a": [runs[0].class_table()], "b": [runs[1].class_table()]}, matrix)
        result = compare(matrix, "a", "b", classes=classes, replicates=400, seed=seed)
        interval, naive = result.bootstrap[Population.CLASSES], result.plain
        assert isinstance(interval, Interval)
        assert isinstance(naive, Interval)
        truth = 0.05 / (1 - 1 / 5)  # a gap in recall is 1.25 as wide in normalized recall at five ways
        hits, plain = hits + interval.holds(truth), plain + naive.holds(truth)
    assert hits / 150 >= 0.90
    assert plain / 150 < 0.85


def test_what_is_undefined_says_why():
    result = compare(draw_matrix(0, [0.5, 0.6], datasets=1, tasks=1), "s0", "s1", replicates=10)
    assert result.plain == Undefined("a single task has no interval")
    assert result.by_dataset == Undefined("a single dataset says nothing about others")
    assert all(isinstance(value, Undefined) and value.reason for value in result.bootstrap.values())


def test_expansion_is_large_for_few_units_and_none_for_many():
    assert expansion(10) == pytest.approx(np.sqrt(10 / 9) * 2.262157 / 1.959964, rel=1e-5)
    assert expansion(100_000) == pytest.approx(1.0, abs=1e-4)
    normal = np.random.default_rng(0).standard_normal(200_000)
    interval = percentile_interval(normal, 10)
    assert (interval.low, interval.high) == pytest.approx((-2.385, 2.385), abs=0.03)


def test_a_verdict_needs_an_interval_that_excludes_zero_or_lies_within_the_margin():
    def interval(low: float, high: float) -> Interval:
        return Interval(low, high, 0.95, 100)

    assert judge(interval(0.01, 0.05), interval(0.014, 0.046)) == "different"
    assert judge(interval(-0.006, 0.008), interval(-0.005, 0.007)) == "equivalent"
    assert judge(interval(-0.02, 0.03), interval(-0.01, 0.02)) == "undecided"
    assert judge(interval(0.001, 0.007), interval(0.002, 0.006)) == "equivalent"


def test_differences_are_judged_by_their_intervals_and_more_pairs_ask_for_more() -> None:
    """By hand: mean 0.02 and t of 2.5 at 19 degrees of freedom; 2.093 is enough for one pair, 2.861 not for five."""
    gaps = 0.02 + 0.008 * np.sqrt(19) * np.array([1.0, -1.0] * 10)
    assert judge_differences(gaps) == "different"
    assert judge_differences(gaps, level=0.05 / 5) == "undecided"
    assert judge_differences(gaps, margin=0.034) == "equivalent"  # 0.02 + 1.729 x 0.008 = 0.0338
    assert judge_differences(gaps, margin=0.033) == "different"


def test_a_single_task_decides_nothing_and_equal_differences_decide_all() -> None:
    assert judge_differences([0.5]) == "undecided"
    assert judge_differences([0.02, 0.02]) == "different"
    assert judge_differences([0.009, 0.009]) == "equivalent"


def test_p_values_are_those_of_scipys_tests_and_agree_with_the_verdict() -> None:
    """The paired t test, and the larger of the two one-sided ones; at 5 % they decide as the intervals do."""
    rng = np.random.default_rng(5)
    verdicts = set[str]()
    for shift, spread in ((0.0, 0.02), (0.02, 0.05), (0.004, 0.01), (-0.03, 0.05), (0.0, 0.2)):
        gaps = shift + spread * rng.normal(size=80)
        found = weigh_differences(gaps, margin=0.01)
        assert found.difference_p == pytest.approx(stats.ttest_1samp(gaps, 0.0)[1], rel=1e-9)
        sides = [
            float(stats.ttest_1samp(gaps, at, alternative=side)[1])  # pyright: ignore[reportArgumentType]
            for at, side in ((-0.01, "greater"), (0.01, "less"))
        ]
        assert found.equivalence_p == pytest.approx(max(sides), rel=1e-9)
        assert found.difference_p is not None and found.equivalence_p is not None
        by_p = "equivalent" if found.equivalence_p < 0.05 else "undecided"
        assert found.verdict == (by_p if by_p == "equivalent" or found.difference_p > 0.05 else "different")
        low, high = stats.ttest_1samp(gaps, 0.0).confidence_interval(0.95)
        assert found.half_width == pytest.approx((high - low) / 2, rel=1e-9)
        verdicts.add(found.verdict)
    assert verdicts == {"different", "equivalent", "undecided"}
    alone = weigh_differences([0.3])
    assert (alone.mean, alone.half_width, alone.difference_p, alone.verdict) == (0.3, None, None, "undecided")
    same = weigh_differences([0.005] * 9)
    assert (same.difference_p, same.equivalence_p, same.verdict) == (0.0, 0.0, "equivalent")

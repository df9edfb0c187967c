"""Mixtures, snapshots, flips over class draws and FIX-ML."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from anyshot_analysis.episodes import BadEpisodes, euclidean_scores
from anyshot_analysis.features import Features
from anyshot_analysis.flips.base_classes import flip_over_base_draws
from anyshot_analysis.flips.novel_classes import (
    FEWEST_DRAWS,
    Method,
    flip_over_class_draws,
    nearest_mean_methods,
)
from anyshot_analysis.flips.whitening import Change, centre_and_normalise, moments, whiten_within
from anyshot_analysis.heads import ProtoNet
from anyshot_analysis.selection.rules import choose, cross_validate_classes, oracle_calls_lost
from anyshot_analysis.shift.evaluation import (
    Snapshots,
    choose_snapshots,
    joined,
    lambda_curves,
    mixture_episodes,
    snapshot_agreement,
    split_sides,
)
from anyshot_analysis.shift.fixml import EpisodicSettings, draw_training, embedded, fix_supports, train_arm
from anyshot_analysis.undefined import Undefined
from tests.analysis.worlds import make_features


def test_sides_share_no_class_and_held_back_images_were_never_trained_on() -> None:
    features = make_features(classes=16, images=10)
    sides = split_sides(features)
    assert (sides.trained.classes, sides.validation.classes, sides.novel.classes) == (8, 4, 4)
    assert sides.held_back.classes == 8
    assert (np.bincount(sides.held_back.labels) == 2).all()
    rows = [
        {tuple(row) for row in np.asarray(side.values)}
        for side in (sides.trained, sides.held_back, sides.validation, sides.novel)
    ]
    assert len(set.union(*rows)) == sum(map(len, rows)) == 160


def test_mixtures_are_pure_at_their_ends_and_uniform_in_proportion() -> None:
    union, base, novel = joined(
        make_features(classes=6, images=12, seed=1), make_features(classes=4, images=12)
    )
    for share, side in ((0.0, base), (1.0, novel)):
        drawn = mixture_episodes(union, base, novel, share, 3, 2, 2, 40, seed=0)
        assert np.isin(drawn.classes, side).all()
    drawn = mixture_episodes(union, base, novel, 0.4, 2, 1, 1, 3000, seed=1)  # lambda = 4 / (4 + 6)
    pairs = np.bincount(drawn.classes[:, 0] * 10 + drawn.classes[:, 1], minlength=100)
    assert stats.chisquare(pairs[~np.eye(10, dtype=bool).ravel()]).pvalue > 1e-3
    assert (union.labels[drawn.support] == drawn.classes[..., None]).all()


def test_accuracy_falls_along_lambda_when_novel_classes_are_harder() -> None:
    easy, hard = make_features(classes=8, noise=0.3, seed=1), make_features(classes=8, noise=5.0, seed=2)
    sides = split_sides(easy, (1.0, 0.0))
    curve = lambda_curves(
        type(sides)(sides.trained, sides.held_back, hard, hard), [ProtoNet()], (0, 0.5, 1), 4, 2, 3, 60
    )
    means = [point.hits["protonet"].mean() for point in curve]
    assert means[0] > means[1] > means[2]


def test_the_earliest_best_snapshot_is_chosen_and_its_cost_told() -> None:
    scores = Snapshots(
        np.array([0.9, 0.2, 0.2]),
        np.array([0.5, 0.8, 0.8]),
        np.array([0.7, 0.6, 0.5]),
        np.array([0.6, 0.5, 0.3]),
    )
    chosen = {c.rule: c for c in choose_snapshots(scores)}
    assert {rule: c.snapshot for rule, c in chosen.items()} == {
        "last": 2, "lowest training loss": 1, "best BaseGen": 1, "best ValGen": 0,
    }  # fmt: skip
    assert chosen["last"].novel_lost == pytest.approx(0.3)
    assert chosen["best ValGen"].novel_lost == 0
    taus = snapshot_agreement(scores)
    assert taus["ValGen and NovelGen"] == pytest.approx(1)
    assert taus["BaseGen and NovelGen"] == pytest.approx(stats.kendalltau(scores.base, scores.novel)[0])
    flat = Snapshots(scores.train_loss, np.full(3, 0.5), scores.validation, scores.novel)
    assert isinstance(snapshot_agreement(flat)["BaseGen and NovelGen"], Undefined)
    with pytest.raises(BadEpisodes):
        Snapshots(scores.train_loss, scores.base, scores.validation, scores.novel[:2])


def test_flips_become_rarer_with_more_classes_and_a_method_never_beats_itself() -> None:
    features = make_features(classes=30, images=20, noise=3.0)
    noisy = Method(
        "noisy",
        features.values + np.random.default_rng(0).normal(size=features.values.shape),
        euclidean_scores,
    )
    methods = (Method("clean", features.values, euclidean_scores), noisy)
    few, many = (flip_over_class_draws(features, methods, size, 4, 3, 5, tasks_a_draw=8) for size in (4, 28))
    assert few.first == many.first == "clean"
    turned = flip_over_class_draws(features, (methods[1], methods[0]), 4, 4, 3, 5, tasks_a_draw=8)
    assert (turned.first, turned.second, turned.lead, turned.flip) == ("clean", "noisy", few.lead, few.flip)
    assert few.differences.std() > many.differences.std()
    assert few.flip >= many.flip
    assert few.flip == (few.differences < -1e-9).mean() < (few.differences < 0).mean()  # ties are none
    same = flip_over_class_draws(features, (methods[0], methods[0]), 6, 4, 3, 5, tasks_a_draw=2)
    assert (same.lead, same.flip, same.exaggeration) == (0, 0, 0)
    assert nearest_mean_methods(features)[1].name == "cosine"
    with pytest.raises(BadEpisodes, match=str(FEWEST_DRAWS)):
        flip_over_class_draws(features, methods, 6, draws=100)
    with pytest.raises(BadEpisodes, match="subsets of 31"):
        flip_over_class_draws(features, methods, 31)


def test_a_fixed_class_has_one_support_and_disjoint_queries() -> None:
    features = make_features(classes=8, images=12)
    supports = fix_supports(features, 3, seed=4)
    assert (features.labels[supports] == np.arange(8)[:, None]).all()
    settings = EpisodicSettings(fixed=True, ways=4, shots=3, query=5)
    drawn = draw_training(features, settings, supports, np.random.default_rng(0), 50)
    np.testing.assert_array_equal(drawn.support, supports[drawn.classes])
    assert not np.isin(drawn.query, supports).any()
    everywhere = EpisodicSettings(fixed=True, query_from="all", ways=4, shots=3, query=5)
    drawn = draw_training(features, everywhere, supports, np.random.default_rng(0), 50)
    assert np.isin(drawn.query, supports).any()
    free = draw_training(features, settings, None, np.random.default_rng(0), 50)
    assert (
        len(
            {
                tuple(sorted(s))
                for c, s in zip(free.classes.ravel(), free.support.reshape(-1, 3), strict=True)
                if c == 0
            }
        )
        > 1
    )


def test_both_arms_learn_from_the_same_start_and_repeat_to_the_bit() -> None:
    features = make_features(classes=10, images=14, width=24, noise=3.0)
    runs = [train_arm(features, EpisodicSettings(fixed, widths=(16,), ways=4, shots=3, query=4, episodes=60, rate=5e-3))
            for fixed in (True, False, False)]  # fmt: skip
    assert runs[1].losses == runs[2].losses
    assert runs[0].losses != runs[1].losses
    assert len(runs[0].networks) == 6
    assert all(run.losses[-1] < run.losses[0] for run in runs)
    assert embedded(runs[0].networks[-1], features).values.shape == (140, 16)


def test_oracle_calls_lose_what_enumeration_says() -> None:
    novel = np.array([0.3, 0.5, 0.1, 0.9, 0.7])
    for calls in range(1, 6):
        found = [max(part) for part in combinations(novel, calls)]
        assert oracle_calls_lost(novel, calls) == pytest.approx(0.9 - np.mean(found), abs=1e-12)
    with pytest.raises(BadEpisodes, match="6 oracle calls for 5"):
        oracle_calls_lost(novel, 6)


def test_a_rule_takes_the_first_of_equal_configurations() -> None:
    taken = choose("by ValGen", [0.2, 0.7, 0.7], [0.5, 0.4, 0.8])
    assert (taken.configuration, taken.novel, taken.novel_lost) == (1, 0.4, pytest.approx(0.4))


def test_cross_validation_over_classes_prefers_what_helps_on_classes_left_out() -> None:
    rng = np.random.default_rng(0)
    features = make_features(classes=20, images=20, width=6, noise=0.5)
    loud = 8 * rng.normal(size=(len(features.labels), 3))  # the same noise in every class
    noisy = Features(np.concatenate([features.values, loud], axis=1), features.labels, features.datasets)

    def whiten(base: Features) -> Change:
        return whiten_within(moments(base), np.arange(base.classes), 0.01)

    plain, whitened = cross_validate_classes(noisy, [lambda _: lambda x: x, whiten], (3, 5, 5), 4, 60)
    assert whitened > plain + 0.2
    with pytest.raises(BadEpisodes, match="classes for 6 ways"):
        cross_validate_classes(noisy, [whiten], (6, 5, 5), 4, 10)


def test_cross_validation_over_classes_fits_none_of_those_that_it_is_judged_by() -> None:
    """Of 20 classes in four parts, each fit has the images of 15, and each class is left out once."""
    features = make_features(classes=20, images=5, width=3, noise=0.5)
    fitted: list[set[tuple[float, ...]]] = []

    def record(base: Features) -> Change:
        fitted.append({tuple(row) for row in np.asarray(base.values).tolist()})
        return lambda x: x

    cross_validate_classes(features, [record], (3, 2, 2), 4, 10)
    everything = {tuple(row) for row in np.asarray(features.values).tolist()}
    assert [len(images) for images in fitted] == [75] * 4
    left_out = [everything - images for images in fitted]
    assert set.union(*left_out) == everything and sum(map(len, left_out)) == len(everything)


def test_whitening_makes_the_covariance_within_classes_the_identity() -> None:
    features = make_features(classes=8, images=40, width=5)
    change = whiten_within(moments(features), np.arange(8), 0.0)
    moved = change(features.values)
    centred = np.concatenate([moved[rows] - moved[rows].mean(axis=0) for rows in features.class_rows])
    np.testing.assert_allclose(centred.T @ centred / len(centred), np.eye(5), atol=1e-10)


def test_base_flips_end_when_every_base_class_is_drawn() -> None:
    base, novel = make_features(classes=12, images=20), make_features(classes=8, images=20, seed=1)
    own = moments(base)
    methods = {
        "whitened": lambda c: whiten_within(own, c, 0.3),
        "centred": lambda c: centre_and_normalise(own, c),
    }
    few = flip_over_base_draws(methods, 12, novel, 2, shape=(3, 2, 5), tasks=10)
    every = flip_over_base_draws(methods, 12, novel, 12, shape=(3, 2, 5), tasks=10)
    assert every.flip == 0 and np.ptp(every.differences) < 1e-12
    assert every.differences[0] == pytest.approx(every.lead)
    assert few.lead == every.lead and np.ptp(few.differences) > 0
    with pytest.raises(BadEpisodes, match="too few"):
        flip_over_base_draws(methods, 12, novel, 2, draws=100)

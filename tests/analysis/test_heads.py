"""Heads against scikit-learn, and episodes against chance and exact distributions."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import NearestCentroid
from sklearn.svm import LinearSVC

from anyshot_analysis.episodes import (
    BadEpisodes,
    cosine_scores,
    draw_episodes,
    draw_within_datasets,
    prototype_hits,
)
from anyshot_analysis.heads import (
    HEADS,
    R2D2,
    BaselineHead,
    BaselinePP,
    MetaOptNetSVM,
    ProtoNet,
    compact,
    problem_of,
)
from anyshot_analysis.heads.baseline import NotConverged
from anyshot_analysis.heads.linear import softmax
from anyshot_analysis.heads.metaoptnet import onto_simplex
from anyshot_analysis.heads.problem import BadProblem, FittingProblem
from tests.analysis.worlds import make_features

TASKS, SPLITS = 3, 4


def make_problem() -> tuple[FittingProblem, np.ndarray]:
    """Three 4-way tasks in 30 dimensions, and image weights 0, 1 or 2 that keep every class."""
    features = make_features(width=30)
    problem = problem_of(features.values, draw_episodes(features, 4, 4, 5, TASKS, seed=1))
    weights = np.ones((TASKS, SPLITS, 16))
    weights[:, 1, [0, 5]], weights[:, 2, 3], weights[:, 3, [4, 8, 12]] = 0, 2, 0
    return problem, weights


def centre(scores: np.ndarray) -> np.ndarray:
    return scores - scores.mean(axis=-1, keepdims=True)


@pytest.mark.parametrize("strength", [0.1, 1.0, 30.0])
def test_logistic_regression_equals_scikit_learn(strength: float) -> None:
    problem, weights = make_problem()
    scores = BaselineHead(strength, tolerance=1e-9).fit(problem, weights).scores(problem.queries)
    for t in range(TASKS):
        for s in range(SPLITS):
            model = LogisticRegression(C=strength, tol=1e-11, max_iter=10_000)
            model.fit(problem.support[t], problem.labels[t], weights[t, s])
            expected = model.decision_function(problem.queries[t])
            np.testing.assert_allclose(centre(scores[t, s]), centre(expected), atol=2e-5)


@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_the_support_vector_machine_equals_liblinear(strength: float) -> None:
    problem, weights = make_problem()
    scores = MetaOptNetSVM(strength, tolerance=1e-9).fit(problem, weights).scores(problem.queries)
    for t in range(TASKS):
        for s in range(SPLITS):
            model = LinearSVC(
                multi_class="crammer_singer", C=strength, fit_intercept=False, tol=1e-10, max_iter=10**6
            )
            model.fit(problem.support[t], problem.labels[t], weights[t, s])
            np.testing.assert_allclose(
                centre(scores[t, s]), centre(model.decision_function(problem.queries[t])), atol=1e-5
            )


def test_ridge_and_prototypes_equal_scikit_learn() -> None:
    problem, weights = make_problem()
    ridge = R2D2(0.7).fit(problem, weights).scores(problem.queries)
    nearest = ProtoNet().fit(problem, np.ones((TASKS, 1, 16))).predict(problem.queries)
    for t in range(TASKS):
        for s in range(SPLITS):
            model = Ridge(alpha=0.7, fit_intercept=False)
            model.fit(problem.support[t], problem.one_hot[t], weights[t, s])
            np.testing.assert_allclose(ridge[t, s], model.predict(problem.queries[t]), atol=1e-8)
        centroid = NearestCentroid().fit(problem.support[t], problem.labels[t])
        np.testing.assert_array_equal(nearest[t, 0], centroid.predict(problem.queries[t]))


def test_the_cosine_head_descends_the_loss_along_its_gradient() -> None:
    problem, weights = make_problem()
    head = BaselinePP()
    shares = (weights / weights.sum(axis=-1, keepdims=True))[..., None]
    x, y = problem.support[:, None], problem.one_hot[:, None]

    def loss(w: np.ndarray) -> np.ndarray:
        unit = w / np.linalg.norm(w, axis=-2, keepdims=True)
        return -(shares * y * np.log(softmax(head.scale * (x @ unit)))).sum(axis=(-1, -2))

    start = np.random.default_rng(0).normal(size=(TASKS, SPLITS, 30, 4))
    start /= np.linalg.norm(start, axis=-2, keepdims=True)
    slope = head.gradient(x, y, shares, start)
    step = 1e-6 * np.random.default_rng(1).normal(size=start.shape)
    numeric = (loss(start + step) - loss(start - step)) / 2
    np.testing.assert_allclose((slope * step).sum(axis=(-1, -2)), numeric, rtol=1e-5, atol=1e-13)
    assert (
        loss(head.fit(problem, weights).weight) < loss(BaselinePP(steps=0).fit(problem, weights).weight)
    ).all()


@pytest.mark.parametrize("name", HEADS)
def test_compact_coordinates_and_repeated_images_change_nothing(name: str) -> None:
    problem, _ = make_problem()
    head = HEADS[name]()
    ones = np.ones((TASKS, 1, 16))
    full, small = head.fit(problem, ones).scores(problem.queries), head.fit(compact(problem), ones)
    assert compact(problem).support.shape == (TASKS, 16, 16)
    np.testing.assert_allclose(small.scores(compact(problem).queries), full, atol=2e-4)
    twice = np.ones((TASKS, 1, 16))
    twice[:, :, 2] = 2
    repeated = FittingProblem(
        np.concatenate([problem.support, problem.support[:, 2:3]], axis=1),
        np.concatenate([problem.labels, problem.labels[:, 2:3]], axis=1),
        problem.queries,
        problem.ways,
    )
    again = head.fit(repeated, np.ones((TASKS, 1, 17))).scores(problem.queries)
    np.testing.assert_allclose(again, head.fit(problem, twice).scores(problem.queries), atol=2e-4)


def test_projection_onto_the_simplex_is_the_nearest_point() -> None:
    rng = np.random.default_rng(0)
    points, radius = rng.normal(size=(50, 6)), rng.uniform(0, 2, size=(50, 1))
    found = onto_simplex(points, radius)
    np.testing.assert_allclose(found.sum(axis=1), radius[:, 0])
    assert (found >= 0).all()
    others = rng.dirichlet(np.ones(6), size=(500, 1)) * radius
    assert (((others - points) ** 2).sum(-1) >= ((found - points) ** 2).sum(-1) - 1e-9).all()


def test_bad_problems_and_impatience_are_refused() -> None:
    problem, weights = make_problem()
    with pytest.raises(BadProblem, match="labels lie outside"):
        FittingProblem(problem.support, problem.labels + 1, problem.queries, 4)
    with pytest.raises(BadProblem, match="do not fit"):
        FittingProblem(problem.support, problem.labels[:, :3], problem.queries, 4)
    for head in (BaselineHead(steps=2), MetaOptNetSVM(steps=2, strength=10)):
        with pytest.raises(NotConverged):
            head.fit(problem, weights)


def test_episodes_are_disjoint_uniform_and_of_the_classes_asked_for() -> None:
    features = make_features(classes=6, images=9)
    episodes = draw_episodes(features, 3, 2, 3, 6000, seed=3)
    rows = np.concatenate([episodes.support, episodes.query], axis=2)
    assert (features.labels[rows] == episodes.classes[..., None]).all()
    assert all(len(set(r.tolist())) == 5 for r in rows[:300].reshape(-1, 5))
    pairs = episodes.classes[:, 0] * 6 + episodes.classes[:, 1]
    counts = np.bincount(pairs, minlength=36)[~np.eye(6, dtype=bool).ravel()]
    assert stats.chisquare(counts).pvalue > 1e-3
    assert stats.chisquare(np.bincount(episodes.query.ravel(), minlength=54)).pvalue > 1e-3
    only = draw_episodes(features, 2, 1, 1, 50, seed=0, classes=[1, 4, 5])
    assert set(only.classes.ravel().tolist()) == {1, 4, 5}
    with pytest.raises(BadEpisodes, match="fewer"):
        draw_episodes(features, 3, 5, 5, 2, seed=0)
    with pytest.raises(BadEpisodes, match="6 classes for 7 ways"):
        draw_episodes(features, 7, 1, 1, 2, seed=0)


def test_tasks_within_datasets_stay_there() -> None:
    features = make_features(classes=7, datasets=2)
    episodes = draw_within_datasets(features, 3, 2, 2, 11, seed=0)
    names = np.array(features.datasets)[episodes.classes]
    assert (names == names[:, :1]).all()
    assert names[:4, 0].tolist() == ["DATA_0", "DATA_1", "DATA_0", "DATA_1"]
    with pytest.raises(BadEpisodes, match="no dataset has 5"):
        draw_within_datasets(features, 5, 2, 2, 3, seed=0)


def test_fast_prototypes_equal_the_head_and_chance_is_chance() -> None:
    features = make_features()
    episodes = draw_episodes(features, 5, 3, 6, 40, seed=2)
    rule = ProtoNet().fit(problem_of(features.values, episodes, unit_length=False), np.ones((40, 1, 15)))
    right = rule.predict(problem_of(features.values, episodes, unit_length=False).queries)[:, 0] == np.repeat(
        range(5), 6
    )
    np.testing.assert_allclose(
        prototype_hits(features.values, episodes), right.reshape(40, 5, 6).mean(axis=2)
    )
    noise = make_features(noise=1e6, seed=5)
    chance = prototype_hits(noise.values, draw_episodes(noise, 5, 3, 6, 800, seed=2), cosine_scores)
    assert chance.mean() == pytest.approx(0.2, abs=0.02)

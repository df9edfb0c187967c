"""The one crossed model of a board: its components, and what it says of each population, against known answers."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from anyshot_scoring.reliability import ClassMatrix, Population, ScoreMatrix, fit_crossed, model_populations
from anyshot_scoring.reliability.crossed_levels import Solver
from anyshot_scoring.reliability.crossed_model import Effects, effects_of
from anyshot_scoring.reliability.spreads import SpreadSource, find_spreads
from anyshot_scoring.rules import find_rule
from anyshot_scoring.undefined import Undefined

TRUE = {"u": 0.010, "b": 0.030, "v": 0.015, "e": 0.100}  # standard deviations, e of one task


def board(
    seed: int,
    submissions: int = 12,
    datasets: int = 20,
    runs: int = 6,
    tasks: int = 8,
    *,
    shared: float = 0.0,
    level: float = 0.02,
) -> ScoreMatrix:
    """A board drawn from the model; `shared` is the standard deviation of tasks that all runs meet."""
    rng = np.random.default_rng(seed)

    def draw(deviation: float, *shape: int) -> NDArray[np.float64]:
        return deviation * rng.standard_normal((*shape, submissions))

    run, dataset, task = (a.ravel() for a in np.indices((runs, datasets, tasks)))
    scores = draw(level) + draw(TRUE["u"], runs)[run] + draw(TRUE["b"], datasets)[dataset]
    scores += draw(TRUE["v"], runs, datasets)[run, dataset] + draw(TRUE["e"], len(run))
    scores += draw(shared, datasets, tasks)[dataset, task] + 0.2 * rng.standard_normal((len(run), 1))
    number = task + tasks * dataset if shared else np.arange(len(run))
    keys, names = (tuple(f"{c}{i:02d}" for i in range(n)) for c, n in (("s", submissions), ("d", datasets)))
    fives = np.full(len(run), 5)
    return ScoreMatrix(keys, names, 0.5 + scores, number, run, dataset, fives, fives)


def deviations(effects: Effects, tasks: int) -> dict[str, float]:
    """Standard deviations of effects, those of tasks for one of them."""
    return {
        name: float(np.sqrt(np.trace(value) / len(value) * (tasks if name in "te" else 1)))
        for name, value in vars(effects).items()
    }


def test_components_are_found_again() -> None:
    found = deviations(effects_of(fit_crossed(board(0)).squares), 8)
    assert {name: found[name] for name in TRUE} == pytest.approx(TRUE, rel=0.15)
    assert found["t"] == found["k"] == 0


def test_tasks_that_the_runs_share_are_told_from_what_a_run_adds() -> None:
    """Taken for tasks of each run's own, they would count as what datasets do."""
    matrix = board(1, shared=0.1)
    found = deviations(effects_of(fit_crossed(matrix, shared_tasks=True).squares), 8)
    assert found["t"] == pytest.approx(0.1, rel=0.15)
    assert {name: found[name] for name in TRUE} == pytest.approx(TRUE, rel=0.2)
    assert deviations(effects_of(fit_crossed(matrix).squares), 8)["b"] > 1.2 * TRUE["b"]


def test_what_the_draw_of_classes_does_is_a_part_of_what_a_dataset_does() -> None:
    """Ten classes a dataset, of deviation 0.06 each: a dataset's mean has 0.06 / sqrt(10) of them."""
    matrix, rng = board(2, runs=2), np.random.default_rng(3)
    effect = 0.06 * rng.standard_normal((200, 12))
    place = np.repeat(np.arange(20), 10)
    within = np.array([effect[place == d].mean(axis=0) for d in range(20)])
    scores = matrix.scores + within[matrix.dataset]
    noise = 0.02 * rng.standard_normal((2, 200, 12))
    sums = effect + noise + 0.5
    classes = ClassMatrix(
        matrix.keys, matrix.datasets, np.tile(np.arange(10), 20), place, sums, np.ones((2, 200))
    )
    found = deviations(effects_of(fit_crossed(replace(matrix, scores=scores), classes).squares), 8)
    assert found["k"] == pytest.approx(0.06 / np.sqrt(10), rel=0.1)
    assert found["b"] == pytest.approx(TRUE["b"], rel=0.25)


def test_effects_are_drawn_from_their_exact_posterior() -> None:
    """Mean and covariance of the draws, against the conditional normal distribution written out in full."""
    rng = np.random.default_rng(0)
    runs, datasets, p, tau = 2, 3, 2, 0.7
    roots = {name: rng.standard_normal((p, p)) for name in vars(Effects(*[np.eye(p)] * 6))}
    effects = Effects(**{name: root @ root.T for name, root in roots.items()})
    cells = rng.standard_normal((runs, datasets, p))
    run, dataset = np.eye(runs), np.eye(datasets)
    design = {  # of what each effect adds to the cells, `[cells, effects]`
        "theta": np.ones((runs * datasets, 1)),
        "u": np.kron(run, np.ones((datasets, 1))),
        "b": np.kron(np.ones((runs, 1)), dataset),
        "k": np.kron(np.ones((runs, 1)), dataset),
        "t": np.kron(np.ones((runs, 1)), dataset),
        "v": np.eye(runs * datasets),
        "e": np.eye(runs * datasets),
    }
    covariance = {"theta": tau**2 * np.eye(p), **vars(effects)}
    total = sum(np.kron(design[name] @ design[name].T, covariance[name]) for name in design)
    drawn = Solver(effects, cells).draw(np.full(40_000, tau), rng)
    for name in ("theta", "u", "b", "k", "t", "v"):
        across = np.kron(design[name].T, covariance[name])
        gain = across @ np.linalg.inv(total)
        values = getattr(drawn, name).reshape(40_000, -1)
        np.testing.assert_allclose(values.mean(axis=0), gain @ cells.ravel(), atol=0.05)
        exact = np.kron(np.eye(design[name].shape[1]), covariance[name]) - gain @ across.T
        np.testing.assert_allclose(np.cov(values.T), exact, atol=0.15)


def levels(matrix: ScoreMatrix, *populations: Population, rule: str = "mean_run") -> dict[Population, float]:
    """How much of the board's own spread each population leaves to the true levels, in one fit."""
    chosen = find_rule(rule)
    points = chosen.points(matrix.run_means(), matrix.run_dataset_means())
    models = model_populations(fit_crossed(matrix), points, chosen, dict.fromkeys(populations, 10))
    found: dict[Population, float] = {}
    for population, model in models.items():
        assert not isinstance(model, Undefined)
        found[population] = float(model.level.std() / points.std())
    return found


def test_one_fit_shrinks_by_what_each_population_draws_again() -> None:
    """Other datasets leave less of a board than other tasks of these ones, and other runs less than none."""
    found = levels(board(4, runs=6, level=0.01), Population.TASKS, Population.DATASETS, Population.SEEDS)
    assert found[Population.DATASETS] < 0.9 * found[Population.TASKS] < found[Population.TASKS] < 1
    assert found[Population.SEEDS] < found[Population.TASKS]


@pytest.mark.parametrize("rule", ["worst_run", "median_run", "dataset_ranks_worst", "worst_dataset"])
def test_every_rule_is_ranked_by_its_own_points(rule: str) -> None:
    """The leader by the rule is who the model takes for the best, where the board is clear."""
    matrix = board(5, submissions=4, datasets=8, runs=3)
    clear = replace(matrix, scores=matrix.scores + np.array([0.0, 0.5, 0.1, 0.2]))
    chosen = find_rule(rule)
    points = chosen.points(clear.run_means(), clear.run_dataset_means())
    models = model_populations(
        fit_crossed(clear), points, chosen, {Population.DATASETS: 8, Population.TASKS: 192}
    )
    for model in models.values():
        assert not isinstance(model, Undefined)
        assert model.first[1] > 0.95 and model.first_again > 0.95
        assert model.level.argmax() == points.argmax()


def test_a_dataset_with_most_of_the_tasks_counts_as_much_as_on_the_board() -> None:
    """What the model says of the levels agrees with the scores shown, which weight datasets by their tasks."""
    matrix = board(6, submissions=3, datasets=8, runs=1, tasks=40)
    first = matrix.dataset == 0
    kept = first | (np.arange(len(first)) % 40 < 3)
    scores = matrix.scores + np.where(first[:, None], [0.3, 0, 0], [0, 0.05, 0])
    few = replace(matrix, scores=scores).select(kept)
    points = few.run_means()[0]
    rule, units = find_rule("mean_run"), {Population.TASKS: 50}
    model = model_populations(fit_crossed(few), points, rule, units)[Population.TASKS]
    assert not isinstance(model, Undefined)
    assert points.argmax() == 0 and model.first[0] > 0.99


def test_boards_without_runs_tasks_cells_or_spread_have_a_model_too() -> None:
    matrix = board(7, submissions=3, datasets=4, runs=2, tasks=3)
    cases = {
        "one run": matrix.select(matrix.run == 0),
        "a task a cell": matrix.select(np.arange(len(matrix.run)) % 3 == 0),
        "one run, a task a cell": matrix.select((matrix.run == 0) & (np.arange(len(matrix.run)) % 3 == 0)),
        "a missing cell": matrix.select((matrix.run == 0) | (matrix.dataset > 0)),
        "all equal": replace(matrix, scores=np.full_like(matrix.scores, 0.5)),
        "two submissions": matrix.submissions([0, 1]),
    }
    rule = find_rule("worst_run")
    for name, case in cases.items():
        points = rule.points(case.run_means(), case.run_dataset_means())
        units = dict.fromkeys(Population, 10)
        for population, model in model_populations(fit_crossed(case), points, rule, units).items():
            assert not isinstance(model, Undefined)
            assert np.isfinite(model.level).all() and model.first.sum() == pytest.approx(1), (
                name,
                population,
            )
            if name == "all equal":  # none of them leads
                assert model.first == pytest.approx(1 / 3) and model.first_again == pytest.approx(1 / 3)


def test_intervals_of_the_components_hold_what_is_true_as_often_as_they_say() -> None:
    """Forty boards with few datasets and runs: 95 % intervals hold the truth of each component."""
    true = {"submission": 0.02, "dataset": TRUE["b"], "task": TRUE["e"], "seed": TRUE["u"]}
    held = dict.fromkeys(true, 0)
    for seed in range(40):
        spreads = find_spreads(fit_crossed(board(seed, submissions=8, datasets=8, runs=3)))
        assert not isinstance(spreads, Undefined)
        for row in spreads:
            if row.source in true:
                assert not isinstance(row.interval, Undefined)
                held[row.source] += row.interval.holds(true[row.source])
    assert all(hits >= 34 for hits in held.values()), held


def test_a_component_that_cannot_be_known_says_why() -> None:
    matrix = board(8, submissions=3, datasets=1, runs=1)
    spreads = find_spreads(fit_crossed(matrix))
    assert not isinstance(spreads, Undefined)
    reasons = {r.source: r.deviation.reason for r in spreads if isinstance(r.deviation, Undefined)}
    assert reasons == {
        SpreadSource.DATASET: "a single dataset says nothing about others",
        SpreadSource.CLASSES: "the files do not say which classes the tasks have",
        SpreadSource.SEED: "a single run says nothing about other seeds",
        SpreadSource.DATASET_AND_SEED: "it takes two datasets and two runs",
    }
    assert isinstance(find_spreads(fit_crossed(matrix.submissions([0]))), Undefined)

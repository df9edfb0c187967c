"""Probabilities on a board: calibrated where the truth is known, and withheld where it cannot be."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from anyshot_core.report import reliability_html
from anyshot_scoring.reliability import (
    BoardModel,
    KnownRanks,
    Population,
    ScoreMatrix,
    assess,
    fit_crossed,
    know_ranks,
    model_populations,
    resample,
)
from anyshot_scoring.reliability.assessment import PopulationReport
from anyshot_scoring.reliability.crossed_levels import draw_populations
from anyshot_scoring.rules import find_rule
from anyshot_scoring.undefined import Undefined
from benchmarks.calibration.__main__ import QUESTIONS, diagram, is_flat, judge
from benchmarks.calibration.boards import FAMILIES, simulate

DATASETS = Population.DATASETS


def model_of(matrix: ScoreMatrix, rule: str = "mean_run", population: Population = DATASETS) -> BoardModel:
    """The model of a board, whose columns are as they come, under one population."""
    chosen = find_rule(rule)
    points = chosen.points(matrix.run_means(), matrix.run_dataset_means())
    return known(model_populations(fit_crossed(matrix), points, chosen, {population: 10})[population])


def known(model: BoardModel | Undefined) -> BoardModel:
    assert isinstance(model, BoardModel)
    return model


StatedAndTrue = dict[str, list[dict[str, NDArray[np.float64]]]]


SHARES_BOARDS = pytest.mark.rotating(
    together=True
)  # half a minute of boards, which the tests of the file share


@pytest.fixture(scope="module")
def judged() -> StatedAndTrue:
    """What was stated and true on sixty boards of each family, of nearly equal and of very different submissions."""
    return {name: [judge(simulate(name, 5, 6, seed)) for seed in range(1000, 1060)] for name in FAMILIES}


@SHARES_BOARDS
@pytest.mark.seconds("simulates many boards")
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_stated_is_as_often_true(judged: StatedAndTrue, family: str, question: str) -> None:
    assert is_flat(diagram([each[question] for each in judged[family]], column=0))


def deviations(family: str) -> NDArray[np.float64]:
    """What each of 40 submissions gains on each of 400 datasets, beyond its own mean and the dataset's, `[400, 40]`."""
    means = simulate(family, 40, 400, 7).matrix.run_dataset_means().mean(axis=0)
    rest = means - means.mean(axis=0) - means.mean(axis=1, keepdims=True) + means.mean()
    return rest / rest.std(axis=0)


def test_each_family_of_boards_is_what_it_is_called() -> None:
    """Clustered submissions fail and shine together, heavy tails are heavy, and the worst of three runs counts."""
    together = {name: np.corrcoef(deviations(name).T) - np.eye(40) for name in FAMILIES}
    assert {name: bool(found.max() > 0.4) for name, found in together.items()} == {
        **dict.fromkeys(FAMILIES, False),
        "clustered": True,
    }
    tails = {name: float((deviations(name) ** 4).mean()) for name in FAMILIES}
    assert tails["heavy tails"] > 3.6 and max(tails[name] for name in ("even", "clustered")) < 3.3
    for name in FAMILIES:
        board = simulate(name, 400, 6, 7, level=0.0001)
        worst = name == "worst of three"
        assert (board.rule, board.matrix.runs) == (("worst_run", 3) if worst else ("mean_run", 1))
        assert (board.truth.mean() < -0.003) == worst, (
            "the lasting level of the worst of three is below their mean"
        )
        points = board.matrix.run_means().min(axis=0)
        assert (np.diff(points) <= 1e-12).all(), "best first by the rule that counts"


@SHARES_BOARDS
@pytest.mark.seconds("simulates many boards")
@pytest.mark.parametrize("question", ["first", "ahead"])
def test_the_model_is_calibrated_and_the_share_of_draws_is_not(judged: StatedAndTrue, question: str) -> None:
    boards = np.array([each[question].mean(axis=0) for family in judged.values() for each in family])
    gaps = boards[:, [0, 2]] - boards[:, 3:]
    model, share = gaps.mean(axis=0) / (gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps)))
    assert abs(model) < 2.5
    assert share > 4  # which pages once called a probability


def test_a_diagram_is_flat_only_where_each_bin_holds() -> None:
    rng = np.random.default_rng(0)
    stated = rng.random(4000)
    boards = [np.array([[p, p**2, rng.random() < p]]) for p in stated]
    assert is_flat(diagram(boards, column=0)) and not is_flat(diagram(boards, column=1))
    copied = [np.repeat(board, 50, axis=0) for board in boards[:200]]  # of one board, not fifty
    pairs = zip(diagram(copied, 0), diagram(boards[:200], 0), strict=True)
    assert np.median([one.error / two.error for one, two in pairs]) > 0.9


def test_levels_are_drawn_towards_the_middle_and_differences_of_the_truth_survive() -> None:
    """The first of a noisy board was lucky: what the model says of the levels errs half as much as the scores do."""
    errors = {"scores": 0.0, "levels": 0.0}
    for seed in range(8):
        board = simulate("even", 20, 10, seed, level=0.01)
        scores = board.matrix.run_means()[0]
        model = model_of(board.matrix)
        assert np.ptp(model.level) < 0.8 * np.ptp(scores)
        truth = board.truth - board.truth.mean()
        errors["scores"] += np.mean((scores - scores.mean() - truth) ** 2)
        errors["levels"] += np.mean((model.level - model.level.mean() - truth) ** 2)
        assert model.spread_interval[0] < model.spread < model.spread_interval[1]
        assert model.first.sum() == pytest.approx(1)
        np.testing.assert_allclose(model.better + model.better.T, 1)
    assert errors["levels"] < 0.5 * errors["scores"]


def test_a_lead_far_above_the_noise_is_certain_and_equal_ones_are_not() -> None:
    board = simulate("even", 3, 50, 0, level=1e-9).matrix
    centered = board.scores - board.scores.mean(axis=0)
    for population in (DATASETS, Population.TASKS):
        model = model_of(replace(board, scores=centered + np.array([0.9, 0.5, 0.4])), population=population)
        assert model.first[0] > 0.999 and model.better[1, 2] > 0.999 and model.first_again > 0.999
        even = model_of(replace(board, scores=centered + 0.5), population=population)
        assert even.first == pytest.approx([1 / 3] * 3, abs=0.05)


def test_under_six_datasets_the_page_says_what_cannot_be_known() -> None:
    board = simulate("even", 4, 5, 0)
    report = assess(board.matrix, replicates=1000, rule="mean_run").populations[Population.DATASETS]
    assert isinstance(report, PopulationReport) and isinstance(report.model, Undefined)
    page = reliability_html(assess(board.matrix, replicates=1000, rule="mean_run"))
    assert "5 units do not tell how much others would differ: probabilities need at least 6" in page
    assert "is first with probability" not in page and "Truly best" in page and "not known" in page


def test_a_page_speaks_of_probabilities_of_the_model_and_of_no_share_of_draws() -> None:
    board = simulate("even", 6, 8, 3, level=0.01)
    assessment = assess(board.matrix, replicates=1000, rule="mean_run")
    report = assessment.populations[Population.DATASETS]
    assert isinstance(report, PopulationReport)
    model, page = known(report.model), reliability_html(assessment)
    assert f"It is truly the best with probability {model.first[0]:.2f}" in page
    assert abs(model.first[0] - report.redrawn.first[0]) > 0.02  # else this test could not tell them apart


@pytest.mark.seconds("simulates many boards")
def test_intervals_of_ranks_hold_the_true_rank_and_those_of_a_sure_board_are_narrow() -> None:
    """Over forty boards a family, nearly equal submissions and very different ones: as often as 95 % says."""
    held: dict[Population, list[float]] = {DATASETS: [], Population.TASKS: []}
    for family in FAMILIES:
        for seed in range(40):
            board = simulate(family, 6, 8, seed + 3000)
            units = {DATASETS: 8, Population.TASKS: 160}
            found = draw_populations(fit_crossed(board.matrix), find_rule(board.rule), units)
            for population, truth in ((DATASETS, board.truth), (Population.TASKS, board.here)):
                drawn = found[population]
                assert not isinstance(drawn, Undefined)
                ranks, true = know_ranks(drawn.true, np.eye(6) > 1), 1 + (truth[:, None] < truth).sum(axis=1)
                held[population].append(((ranks.low <= true) & (true <= ranks.high)).mean())
    for population, shares in held.items():
        error = 3 * np.std(shares) / np.sqrt(len(shares))
        assert np.mean(shares) > 0.95 - error, population
    sure = simulate("even", 4, 30, 0, level=1e-9).matrix
    apart = sure.scores - sure.scores.mean(axis=0) + np.array([0.9, 0.6, 0.4, 0.1])
    report = assess(replace(sure, scores=apart), replicates=1000, rule="mean_run").populations[DATASETS]
    assert isinstance(report, PopulationReport) and isinstance(report.ranks, KnownRanks)
    assert report.ranks.low.tolist() == report.ranks.high.tolist() == [1, 2, 3, 4] and not report.ranks.groups


def test_six_datasets_are_enumerated() -> None:
    board = simulate("even", 3, 6, 0)
    one, two = (
        resample(board.matrix, Population.DATASETS, replicates=r, seed=r, one_stage=True) for r in (10, 1000)
    )
    assert len(one) == 6**6
    np.testing.assert_array_equal(one, two)
    means = board.matrix.dataset_means()
    np.testing.assert_allclose(one.mean(axis=0), means.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(one.var(axis=0), means.var(axis=0) / 6, rtol=1e-9)


@pytest.mark.seconds("simulates many boards")
def test_a_page_says_that_one_far_submission_sets_the_spread() -> None:
    """Four close submissions and one that guesses: its distance stood there as the spread of all."""
    board = simulate("even", 5, 8, 1, level=0.01).matrix
    last = board.scores.mean(axis=0).argmin()
    far = board.scores - 0.3 * (np.arange(5) == last)
    close, wide = (assess(m, replicates=1000, rule="mean_run") for m in (board, replace(board, scores=far)))
    name = board.keys[last]
    for assessment, says in ((close, False), (wide, True)):
        report = assessment.populations[Population.DATASETS]
        assert isinstance(report, PopulationReport)
        page = reliability_html(assessment)
        assert (report.without is not None and report.without.key == name) == says
        assert (f"One submission far from the others, {name}, sets this spread" in page) == says
        assert (f"(Among the submissions without {name}, which is far from the others: " in page) == says
